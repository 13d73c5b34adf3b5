package mem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// sendKeyed sends a record with this key for each body, in one batch.
func sendKeyed(tb testing.TB, s driver.Sender, key string, bodies ...string) {
	tb.Helper()
	rs := records(bodies...)
	for i := range rs {
		rs[i].Key = []byte(key)
	}
	if err := s.Send(tb.Context(), rs); err != nil {
		tb.Errorf("send %q: %v", bodies, err)
	}
}

// owners returns a queue with receivers that own keys.
func owners(tb testing.TB, c mem.Config, n int) (*mem.Broker, driver.Sender, []driver.Receiver) {
	tb.Helper()
	b := open(tb, c)
	topic := queueTopic("orders")
	var rs []driver.Receiver
	for range n {
		rs = append(rs, owner(tb, b, "", topic))
	}
	return b, sender(tb, b, driver.Target{Topic: topic}), rs
}

// later receives on a goroutine of its own.
func later(t *testing.T, r driver.Receiver, n int) <-chan []*driver.Delivery {
	t.Helper()
	came := make(chan []*driver.Delivery, 1)
	go func() {
		ds, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, n))
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, driver.ErrClosed) {
			t.Errorf("receive: %v", err)
		}
		came <- ds
	}()
	synctest.Wait()
	return came
}

// nothing wants a receiver to get nothing now. It is called inside a bubble.
func nothing(t *testing.T, what string, r driver.Receiver) {
	t.Helper()
	if ds, err := r.Receive(brief(t), make([]*driver.Delivery, 0, 4)); len(ds) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: got %v, %v; want nothing", what, bodies(ds), err)
	}
}

func TestReceiversThatOwnKeysAndOthersDoNotMix(t *testing.T) {
	t.Parallel()
	queue, fan := queueTopic("orders"), fanout("fan", "g")
	for what, of := range map[string]struct {
		topic driver.Topic
		group string
	}{"queue": {queue, ""}, "group": {fan, "g"}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := open(t, mem.Config{})
			s := driver.Source{Topics: []driver.Topic{of.topic}, Group: of.group, Prefetch: 8}
			compete, own := b.OpenQueue, b.OpenSequence
			if of.group != "" {
				compete, own = b.OpenGroup, b.OpenGroupSequence
			}
			mode := map[bool]func(context.Context, driver.Source) (driver.Receiver, error){false: compete, true: own}
			for _, first := range []bool{false, true, false} {
				r, err := mode[first](t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				err = second(mode[!first](t.Context(), s))
				if err == nil || !strings.Contains(err.Error(), of.topic.Name) || !strings.Contains(err.Error(), "open all as sequences") {
					t.Errorf("beside one of the other manner: %v", err)
				}
				if err := r.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestSequencesRefuseWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	queue, fan := []driver.Topic{queueTopic("orders")}, []driver.Topic{fanout("fan", "g")}
	for what, err := range map[string]error{
		"a sequence of a group":       second(b.OpenSequence(t.Context(), driver.Source{Topics: fan, Group: "g"})),
		"a sequence of a fan-out":     second(b.OpenSequence(t.Context(), driver.Source{Topics: fan})),
		"a group without a name":      second(b.OpenGroupSequence(t.Context(), driver.Source{Topics: fan})),
		"a group sequence of a queue": second(b.OpenGroupSequence(t.Context(), driver.Source{Topics: queue, Group: "g"})),
	} {
		wantErr(t, what, err)
	}
}

// What waits, and what was released with a delay, outlives a change of the manner in its order.
func TestQueueChangesItsManner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{})
		topic := queueTopic("orders")
		s := sender(t, b, driver.Target{Topic: topic})
		sendKeyed(t, s, "k", "1", "2", "3", "4")
		send(t, s, "free")
		compete := func(f func(driver.Receiver)) {
			r := receiver(t, b, "", topic)
			f(r)
			_ = r.Close(t.Context())
		}
		own := func(f func(driver.Receiver)) {
			r := owner(t, b, "", topic)
			f(r)
			_ = r.Close(t.Context())
		}
		compete(func(r driver.Receiver) { releaseIn(t, r, time.Minute, take(t, r, 1)[0]) })
		own(func(r driver.Receiver) {
			want(t, "a key whose first was released", bodies(take(t, r, 9)), "[free]")
			want(t, "depth", depth(t, b, "", topic), "ready 3 held 1 in flight 1")
		})
		compete(func(r driver.Receiver) { want(t, "any", bodies(take(t, r, 9)), "[2 3 4 free]") })
		own(func(r driver.Receiver) {
			time.Sleep(time.Minute)
			synctest.Wait()
			ds := take(t, r, 1)
			want(t, "the first of its key", bodies(ds), "[1]")
			releaseIn(t, r, time.Minute, ds[0])
		})
		compete(func(r driver.Receiver) {
			want(t, "any", bodies(take(t, r, 9)), "[2 3 4 free]")
			time.Sleep(time.Minute)
			want(t, "and what is due", bodies(take(t, r, 9)), "[1]")
		})
	})
}

func releaseIn(tb testing.TB, r driver.Receiver, delay time.Duration, d *driver.Delivery) {
	tb.Helper()
	if err := r.Settle(tb.Context(), []driver.Settlement{{Delivery: d, Delay: delay}}); err != nil {
		tb.Errorf("release: %v", err)
	}
}

// An idle owner is the only one that can have more of its key, so it is woken, and nobody else.
func TestOwnerIsWokenForItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, rs := owners(t, mem.Config{}, 3)
		sendKeyed(t, s, "k", "1")
		first := take(t, rs[0], 9)
		came := []<-chan []*driver.Delivery{later(t, rs[0], 9), later(t, rs[1], 9), later(t, rs[2], 9)}
		sendKeyed(t, s, "k", "2", "3")
		want(t, "the owner", bodies(<-came[0]), "[2 3]")
		sendKeyed(t, s, "other", "4")
		synctest.Wait()
		settle(t, rs[0], driver.Done, first...)
		select {
		case ds := <-came[1]:
			want(t, "another", bodies(ds), "[4]")
		case ds := <-came[2]:
			want(t, "another", bodies(ds), "[4]")
		}
	})
}

// A key that its owner is done with goes to whoever waits.
func TestFreedKeyGoesToWhoWaits(t *testing.T) {
	t.Parallel()
	for what, free := range map[string]func(*testing.T, driver.Receiver, []*driver.Delivery){
		"settled": func(t *testing.T, r driver.Receiver, ds []*driver.Delivery) {
			t.Helper()
			settle(t, r, driver.Done, ds...)
		},
		"closed": func(t *testing.T, r driver.Receiver, _ []*driver.Delivery) {
			t.Helper()
			_ = r.Close(t.Context())
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, s, rs := owners(t, mem.Config{}, 2)
				sendKeyed(t, s, "k", "1", "2")
				ds := take(t, rs[0], 1)
				came := later(t, rs[1], 9)
				sendKeyed(t, s, "k", "3")
				synctest.Wait()
				want(t, "while it is owned", len(came), 0)
				free(t, rs[0], ds)
				got := bodies(<-came)
				want(t, "afterwards", got[len(got)-2:], "[2 3]")
				want(t, "with what was not settled", len(got) == 3, what == "closed")
			})
		})
	}
}

func TestRecordsWithoutAKeyHaveNoOwner(t *testing.T) {
	t.Parallel()
	_, s, rs := owners(t, mem.Config{}, 2)
	send(t, s, "1", "2", "3")
	one := take(t, rs[0], 2)
	two := take(t, rs[1], 9)
	want(t, "one", bodies(one), "[1 2]")
	want(t, "two", bodies(two), "[3]")
	settle(t, rs[0], driver.Release, one[1])
	want(t, "released", bodies(take(t, rs[1], 9)), "[2]")
	_ = rs[0].Close(t.Context())
	want(t, "given back", bodies(take(t, rs[1], 9)), "[1]")
	settle(t, rs[1], driver.Done, two...)
}

// Fault 30: a receiver leaves keys for those that wait, and does not share one key.
func TestIdleReceiversShareKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, rs := owners(t, mem.Config{}, 3)
		came := []<-chan []*driver.Delivery{later(t, rs[0], 99), later(t, rs[1], 99), later(t, rs[2], 99)}
		var batch []driver.Record
		for i := range 90 {
			batch = append(batch, driver.Record{Key: fmt.Appendf(nil, "key %d", i%30), Body: fmt.Append(nil, i)})
		}
		if err := s.Send(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		owner := map[string]int{}
		for r := range came {
			ds := <-came[r]
			if len(ds) < 27 || len(ds) > 33 {
				t.Errorf("receiver %d got %d of 90 records", r, len(ds))
			}
			for _, d := range ds {
				if o, is := owner[string(d.Key)]; is && o != r {
					t.Errorf("%s is at %d and at %d", d.Key, o, r)
				}
				owner[string(d.Key)] = r
			}
		}
	})
}

// A key that does not move leaves its receiver credit for the others.
func TestKeyTakesAPartOfTheCredit(t *testing.T) {
	t.Parallel()
	for prefetch, most := range map[int]int{8: 64, 256: 64, 1024: 256} {
		b := open(t, mem.Config{})
		topic := queueTopic("orders")
		s := sender(t, b, driver.Target{Topic: topic})
		r, err := b.OpenSequence(t.Context(), driver.Source{Topics: []driver.Topic{topic}, Prefetch: prefetch})
		if err != nil {
			t.Fatal(err)
		}
		sendKeyed(t, s, "stuck", slices.Repeat([]string{"x"}, 500)...)
		sendKeyed(t, s, "other", "y")
		ds := take(t, r, 1000)
		want(t, fmt.Sprintf("of 500 with a prefetch of %d", prefetch), len(ds), most+1)
		if !slices.Contains(bodies(ds), "y") {
			t.Error("the other key did not come")
		}
		settle(t, r, driver.Done, ds[:10]...)
		if again := len(take(t, r, 1000)); again < 9 {
			t.Errorf("after 10 were settled came %d", again)
		}
	}
}

// A key of which there is always more does not keep the others waiting.
func TestKeysTakeTurns(t *testing.T) {
	t.Parallel()
	_, s, rs := owners(t, mem.Config{}, 1)
	sendKeyed(t, s, "hot", slices.Repeat([]string{"x"}, 200)...)
	old := take(t, rs[0], 8)
	sendKeyed(t, s, "a", "a1", "a2")
	sendKeyed(t, s, "b", "b1", "b2")
	var came []string
	for range 3 { // the hot key is in hand all the time
		ds := take(t, rs[0], 8)
		settle(t, rs[0], driver.Done, old...)
		old = ds
		came = append(came, bodies(ds)...)
	}
	for _, want := range []string{"a1", "a2", "b1", "b2"} {
		if !slices.Contains(came, want) {
			t.Errorf("%s is not among %v", want, came)
		}
	}
}

func TestReleasedComesBeforeTheRestOfItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, rs := owners(t, mem.Config{}, 2)
		sendKeyed(t, s, "k", "1", "2", "3", "4")
		ds := take(t, rs[0], 3)
		settle(t, rs[0], driver.Release, ds[0])
		nothing(t, "another, while some is in hand", rs[1])
		again := take(t, rs[0], 9)
		want(t, "the owner", bodies(again), "[1 4]")
		settle(t, rs[0], driver.Release, append(again, ds[1:]...)...)
		ds = take(t, rs[1], 9)
		want(t, "another, with all of it", bodies(ds), "[1 2 3 4]")
		releaseIn(t, rs[1], time.Minute, ds[0])
		settle(t, rs[1], driver.Release, ds[1:]...)
		sendKeyed(t, s, "other", "5")
		want(t, "while the first is held", bodies(take(t, rs[0], 9)), "[5]")
		nothing(t, "while the first is held", rs[1])
		time.Sleep(time.Minute)
		synctest.Wait()
		want(t, "when it is due", bodies(take(t, rs[1], 9)), "[1 2 3 4]")
	})
}

// What was sorted by key counts against the bound as what was not.
func TestSequenceIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, rs := owners(t, mem.Config{MaxMessages: 4}, 2)
		sendKeyed(t, s, "k", "1", "2", "3")
		ds := take(t, rs[0], 1)
		nothing(t, "another", rs[1]) // it has sorted all
		sendKeyed(t, s, "k", "4", "5")
		sent := make(chan error)
		go func() { sent <- s.Send(t.Context(), []driver.Record{{Key: []byte("k"), Body: []byte("6")}}) }()
		synctest.Wait()
		want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 4 held 0 in flight 1")
		settle(t, rs[0], driver.Done, ds...)
		synctest.Wait()
		want(t, "sent", len(sent), 0)
		want(t, "taken", bodies(take(t, rs[1], 1)), "[2]")
		if err := <-sent; err != nil {
			t.Error(err)
		}
		want(t, "the rest", bodies(take(t, rs[1], 9)), "[3 4 5 6]")
	})
}
