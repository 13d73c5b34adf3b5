package mem_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// weak is one for a broker with a weakness.
func weak(tb testing.TB, w mem.Weak) (*mem.Broker, driver.Sender, driver.Receiver) {
	tb.Helper()
	return one(tb, mem.Config{Weak: w})
}

func TestWeakLateSettlementSettlesForTheNewOwner(t *testing.T) {
	t.Parallel()
	b, s, r := weak(t, mem.Weak{AcceptLateSettlements: true})
	topic := queueTopic("orders")
	send(t, s, "0", "1", "2", "3")
	old := take(t, r, 4)
	if err := b.Faults().RevokeReceiver(r, 0); err != nil {
		t.Fatal(err)
	}
	next := receiver(t, b, "", topic)
	ds := take(t, next, 2)
	settle(t, r, driver.Done, old[0])    // in another's hand
	settle(t, r, driver.Release, old[1]) // in another's hand
	settle(t, r, driver.Done, old[2])    // ready
	settle(t, r, driver.Release, old[3]) // ready
	want(t, "depth", depth(t, b, "", topic), "ready 2 held 0 in flight 0")
	err := next.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}})
	wantErr(t, "the new owner", err, driver.ErrRevoked)
	want(t, "body of the new owner", string(ds[0].Body), "0")
	err = r.Settle(t.Context(), []driver.Settlement{{Delivery: old[0], Verdict: driver.Done}})
	wantErr(t, "once more", err, driver.ErrRevoked)
	want(t, "left", bodies(take(t, next, 9)), "[1 3]")
}

func TestWeakLateSettlementOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := weak(t, mem.Weak{AcceptLateSettlements: true})
		send(t, s, "0")
		old := take(t, r, 1)
		if err := b.Faults().RevokeReceiver(r, 0); err != nil {
			t.Fatal(err)
		}
		next := receiver(t, b, "", queueTopic("orders"))
		ds := take(t, next, 1)
		err := next.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Delay: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		settle(t, r, driver.Done, old[0])
		want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 0")
	})
}

// What a broker or a topic had that is gone is nobody's, however late it is settled.
func TestWeakLateSettlementOfWhatIsGone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *mem.Broker){
		"broker": func(b *mem.Broker) { _ = b.Close(context.Background()) },
		"topic":  func(b *mem.Broker) { b.Faults().WipeTopology() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s, r := weak(t, mem.Weak{AcceptLateSettlements: true})
			send(t, s, "0", "1")
			old := take(t, r, 2)
			end(b)
			for i, v := range []driver.Verdict{driver.Done, driver.Release} {
				err := r.Settle(t.Context(), []driver.Settlement{{Delivery: old[i], Verdict: v}})
				wantErr(t, v.String(), err, driver.ErrRevoked)
			}
		})
	}
}

func TestWeakCountOfReleases(t *testing.T) {
	t.Parallel()
	_, s, r := weak(t, mem.Weak{CountReleases: true})
	send(t, s, "x")
	for n := range 3 {
		ds := take(t, r, 1)
		want(t, "delivered", ds[0].Delivered, n+1)
		settle(t, r, driver.Release, ds...)
	}
}

func TestWeakOrderOfReleases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		weak mem.Weak
		want string
	}{
		"strong":     {mem.Weak{}, "[0 1 2 3]"},
		"behind new": {mem.Weak{RequeueBehindNew: true}, "[3 0 1 2]"},
		"nack order": {mem.Weak{RequeueInNackOrder: true}, "[2 1 0 3]"},
	} {
		_, s, r := weak(t, c.weak)
		send(t, s, "0", "1", "2", "3")
		settle(t, r, driver.Release, take(t, r, 3)...)
		want(t, name, bodies(take(t, r, 9)), c.want)
	}
}

func TestWeakOrderOfATenure(t *testing.T) {
	t.Parallel()
	b, s, r := weak(t, mem.Weak{RequeueInNackOrder: true})
	send(t, s, "0", "1", "2")
	take(t, r, 2)
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, "given up as a whole", bodies(take(t, receiver(t, b, "", queueTopic("orders")), 9)), "[0 1 2]")
}

func TestWeakTagsAreUsedAgain(t *testing.T) {
	t.Parallel()
	for late, refused := range map[bool]bool{false: true, true: false} {
		b, s, r := weak(t, mem.Weak{ReuseTags: true, AcceptLateSettlements: late})
		topic := queueTopic("orders")
		send(t, s, "0", "1")
		old := take(t, r, 2)
		want(t, "tokens", fmt.Sprint(old[0].Token, old[1].Token), "{1 0 <nil>} {2 0 <nil>}")
		settle(t, r, driver.Done, old[0])
		wantErr(t, "settled before", r.Settle(t.Context(), []driver.Settlement{{Delivery: old[0]}}), driver.ErrRevoked)
		kept := *old[1]
		if err := b.Faults().RevokeReceiver(r, 0); err != nil {
			t.Fatal(err)
		}
		settle(t, receiver(t, b, "", topic), driver.Release, []*driver.Delivery{}...)
		send(t, s, "stranger")
		ds := take(t, r, 2)
		want(t, "token of the first after the revocation", ds[0].Token, "{1 0 <nil>}")
		want(t, "token of the stranger", ds[1].Token, kept.Token)
		err := r.Settle(t.Context(), []driver.Settlement{{Delivery: &kept, Verdict: driver.Done}})
		if refused {
			wantErr(t, "late", err, driver.ErrRevoked)
			want(t, "depth", depth(t, b, "", topic), "ready 0 held 0 in flight 2")
		} else {
			if err != nil {
				t.Errorf("late: %v", err)
			}
			want(t, "depth", depth(t, b, "", topic), "ready 0 held 0 in flight 1") // the stranger is gone
		}
		err = r.Settle(t.Context(), []driver.Settlement{{Delivery: &driver.Delivery{Token: driver.Token{A: 1, B: 7}}}})
		wantErr(t, "foreign", err, driver.ErrRevoked)
	}
}

func TestWeakTagsSurviveWhatFails(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{Lease: time.Minute, Weak: mem.Weak{ReuseTags: true}})
	send(t, s, "x")
	ds := take(t, r, 1)
	if err := r.(driver.Extender).Extend(t.Context(), ds); err != nil {
		t.Errorf("extend: %v", err)
	}
	b.Faults().FailSettle("orders", 1)
	wantErr(t, "refused", r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}}))
	settle(t, r, driver.Done, ds...)
}

func TestWeakSenderCannotHold(t *testing.T) {
	t.Parallel()
	_, s, r := weak(t, mem.Weak{NoHold: true})
	if _, ok := s.(driver.Holder); ok {
		t.Error("the sender is a Holder")
	}
	send(t, s, "x")
	want(t, "received", bodies(take(t, r, 1)), "[x]")
	if s.Limits().MaxRecord == 0 {
		t.Error("no limit")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWeakBrokerWithoutCount(t *testing.T) {
	t.Parallel()
	_, s, r := weak(t, mem.Weak{NoCount: true})
	send(t, s, "x")
	want(t, "delivered", take(t, r, 1)[0].Delivered, 0)
	want(t, "HasCount", r.Info().HasCount, false)
}

func TestWeakCreditOfAQueue(t *testing.T) {
	t.Parallel()
	for eat, ready := range map[bool]string{false: "ready 2 held 1 in flight 2", true: "ready 3 held 1 in flight 1"} {
		synctest.Test(t, func(t *testing.T) {
			b, s, r := weak(t, mem.Weak{CreditPerQueue: 2, DelaysEatCredit: eat})
			topic := queueTopic("orders")
			other := receiver(t, b, "", topic)
			send(t, s, "0", "1", "2", "3", "4")
			ds := take(t, r, 9)
			want(t, "taken", bodies(ds), "[0 1]")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := other.Receive(ctx, make([]*driver.Delivery, 0, 9))
			wantErr(t, "without credit", err, context.DeadlineExceeded)
			want(t, "waiting", other.(driver.Waiter).Waiting(), "no credit")
			got := make(chan []*driver.Delivery, 1)
			go func() {
				ds, _ := other.Receive(t.Context(), make([]*driver.Delivery, 0, 9))
				got <- ds
			}()
			synctest.Wait()
			err = r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Delay: time.Minute}})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			want(t, "depth", depth(t, b, "", topic), ready)
			settle(t, r, driver.Done, ds[1])
			want(t, "other", len(<-got), 1)
		})
	}
}

func TestWeakDedup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := weak(t, mem.Weak{Dedup: time.Minute})
		id := driver.ID{Text: "id"}
		put := func(body string, unique bool) {
			err := s.Send(t.Context(), []driver.Record{{ID: id, Body: []byte(body), Unique: unique}})
			if err != nil {
				t.Errorf("send %s: %v", body, err)
			}
		}
		b.Faults().CutBefore("orders", 1)
		wantErr(t, "cut", s.Send(t.Context(), []driver.Record{{ID: id, Body: []byte("cut")}}), driver.ErrNotSent)
		put("first", false)
		put("again", false)
		put("copy", true)
		send(t, s, "no id", "no id")
		want(t, "in the window", bodies(take(t, r, 9)), "[first copy no id no id]")
		time.Sleep(59 * time.Second)
		put("again", false)
		time.Sleep(time.Second)
		put("after", false)
		want(t, "after the window", bodies(take(t, r, 9)), "[after]")
	})
}

// Of two Sends of one id the second is told that it was sent only once the first is stored, and is stored itself where that fails.
func TestWeakDedupWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			_, s, r := one(t, mem.Config{MaxMessages: 1, Weak: mem.Weak{Dedup: time.Minute}})
			send(t, s, "full")
			sent := func(ctx context.Context, body string) <-chan error {
				done := make(chan error, 1)
				go func() {
					done <- s.Send(ctx, []driver.Record{{ID: driver.ID{Text: "id"}, Body: []byte(body)}})
				}()
				synctest.Wait()
				return done
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first := sent(ctx, "first")
			hasty, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			wantErr(t, "who does not wait", <-sent(hasty, "hasty"), driver.ErrNotSent, context.DeadlineExceeded)
			second := sent(t.Context(), "second")
			want(t, "second before the first", len(second), 0)
			if fails {
				cancel()
				wantErr(t, "first", <-first, driver.ErrNotSent, context.Canceled)
			}
			settle(t, r, driver.Done, take(t, r, 1)...)
			if err := <-second; err != nil {
				t.Error(err)
			}
			want(t, "stored", bodies(take(t, r, 9)), map[bool]string{false: "[first]", true: "[second]"}[fails])
		})
	}
}
