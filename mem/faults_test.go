package mem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func records(bodies ...string) []driver.Record {
	rs := make([]driver.Record, len(bodies))
	for i, b := range bodies {
		rs[i] = driver.Record{Body: []byte(b)}
	}
	return rs
}

// brief is a context of one second.
func brief(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
	tb.Cleanup(cancel)
	return ctx
}

func TestSoftCutWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		f := b.Faults()
		send(t, s, "held")
		ds := take(t, r, 1)
		f.Disconnect(mem.SoftCut)
		want(t, "waiting", r.(driver.Waiter).Waiting(), "broker away")
		wantErr(t, "send", s.Send(brief(t), records("x")), driver.ErrNotSent, driver.ErrDisconnected, context.DeadlineExceeded)
		_, err := r.Receive(brief(t), make([]*driver.Delivery, 0, 1))
		wantErr(t, "receive", err, context.DeadlineExceeded)
		err = r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}})
		wantErr(t, "settle", err, driver.ErrDisconnected)
		wantErr(t, "open", second(b.OpenSender(t.Context(), driver.Target{Topic: queueTopic("orders")})), driver.ErrDisconnected)

		sent := make(chan error)
		go func() { sent <- s.Send(t.Context(), records("later")) }()
		got := make(chan []*driver.Delivery)
		go func() { got <- take(t, r, 1) }()
		synctest.Wait()
		f.Reconnect()
		if err := <-sent; err != nil {
			t.Errorf("send after the reconnect: %v", err)
		}
		want(t, "received", bodies(<-got), "[later]")
		settle(t, r, driver.Done, ds...)
		want(t, "waiting", r.(driver.Waiter).Waiting(), "")
	})
}

func TestHardCutEndsTenures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		f := b.Faults()
		send(t, s, "0", "1", "2")
		old := take(t, r, 2)
		take(t, r, 1)
		waits := make(chan error)
		go func() {
			_, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
			waits <- err
		}()
		synctest.Wait()
		f.Disconnect(mem.HardCut)
		wantErr(t, "receive", <-waits, driver.ErrDisconnected)
		rev := <-r.(driver.Revoker).Revocations()
		want(t, "tenure", rev.Tenure, old[0].Tenure)
		want(t, "lost", rev.Lost, true)
		f.Reconnect()
		ds := take(t, r, 9)
		want(t, "again", bodies(ds), "[0 1 2]")
		if ds[0].Tenure == old[0].Tenure {
			t.Error("the tenure is the old one")
		}
		err := r.Settle(t.Context(), []driver.Settlement{{Delivery: old[0], Verdict: driver.Done}})
		wantErr(t, "late settlement", err, driver.ErrRevoked)
		settle(t, r, driver.Done, ds...)
	})
}

func TestCloseWakesWhoWaitsForTheBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, _ := one(t, mem.Config{})
		other := sender(t, b, driver.Target{Topic: queueTopic("orders")})
		b.Faults().Disconnect(mem.SoftCut)
		errs := make(chan error)
		for _, s := range []driver.Sender{s, other} {
			go func() { errs <- s.Send(t.Context(), records("x")) }()
		}
		synctest.Wait()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantErr(t, "closed sender", <-errs, driver.ErrClosed, driver.ErrNotSent)
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantErr(t, "closed broker", <-errs, driver.ErrClosed, driver.ErrNotSent)
	})
}

func TestCutsTellPerRecord(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	f := b.Faults()
	f.CutBefore("orders", 1)
	f.CutAfter("", 1)
	err := s.Send(t.Context(), records("before", "after", "fine"))
	wantErr(t, "before", driver.EntryError(err, 0), driver.ErrNotSent, driver.ErrDisconnected)
	wantErr(t, "after", driver.EntryError(err, 1), driver.ErrUnconfirmed, driver.ErrDisconnected)
	if err := driver.EntryError(err, 2); err != nil {
		t.Errorf("fine: %v", err)
	}
	want(t, "stored", bodies(take(t, r, 9)), "[after fine]")
	f.CutAfter("orders", 1)
	err = s.Send(t.Context(), []driver.Record{{Key: []byte("k"), Body: []byte("first")}, {Key: []byte("k")}})
	wantErr(t, "later of the key", driver.EntryError(err, 1), driver.ErrNotSent)
	want(t, "stored", bodies(take(t, r, 9)), "[first]")
}

func TestWithheldConfirms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		f := b.Faults()
		f.WithholdConfirms("orders")
		err := s.Send(brief(t), records("a", "b"))
		wantErr(t, "a", driver.EntryError(err, 0), driver.ErrUnconfirmed, context.DeadlineExceeded)
		wantErr(t, "b", driver.EntryError(err, 1), driver.ErrUnconfirmed)
		want(t, "stored", bodies(take(t, r, 9)), "[a b]")
		sent := make(chan error)
		go func() { sent <- s.Send(t.Context(), records("c")) }()
		synctest.Wait()
		want(t, "stored", bodies(take(t, r, 9)), "[c]")
		f.ReleaseConfirms("orders")
		if err := <-sent; err != nil {
			t.Errorf("confirmed: %v", err)
		}
		f.WithholdConfirms("")
		go func() { sent <- s.Send(t.Context(), records("d")) }()
		synctest.Wait()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantErr(t, "closed", <-sent, driver.ErrClosed, driver.ErrUnconfirmed)
	})
}

func TestRefusedSends(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	f := b.Faults()
	why := errors.New("why")
	f.FailSend("orders", 2, why)
	f.RejectSize("orders", 3)
	for range 2 {
		wantErr(t, "refused", s.Send(t.Context(), records("x")), driver.ErrNotSent, why)
	}
	wantErr(t, "too large", s.Send(t.Context(), records("four")), driver.ErrNotSent, driver.ErrTooLarge)
	send(t, s, "one")
	f.RejectSize("orders", 0)
	send(t, s, "four")
	f.FailSend("orders", -1, nil)
	for range 3 {
		wantErr(t, "refused for ever", s.(driver.Holder).SendAt(t.Context(), records("x")), driver.ErrNotSent)
	}
	f.FailSend("orders", 0, nil)
	send(t, s, "last")
	want(t, "stored", bodies(take(t, r, 9)), "[one four last]")
}

func TestDelayedDeliveries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		b.Faults().Delay("orders", time.Second)
		begun := time.Now()
		send(t, s, "slow")
		if err := sendIn(t, s, "slower", time.Second); err != nil {
			t.Fatal(err)
		}
		b.Faults().Delay("orders", 0)
		want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 2 in flight 0")
		want(t, "first", bodies(take(t, r, 9)), "[slow]")
		want(t, "after", time.Since(begun), time.Second)
		want(t, "second", bodies(take(t, r, 9)), "[slower]")
		want(t, "after", time.Since(begun), 2*time.Second)
	})
}

func TestClearEndsEveryFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		f := b.Faults()
		f.Stall("orders")
		f.PauseQueue("")
		f.FailSend("", -1, nil)
		f.FailSettle("", -1)
		f.Disconnect(mem.SoftCut)
		got := make(chan []*driver.Delivery)
		go func() { got <- take(t, r, 1) }()
		synctest.Wait()
		f.Clear()
		send(t, s, "x")
		settle(t, r, driver.Done, <-got...)
	})
}

func TestInjectedRecordsAreForeign(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{MaxMessages: 1})
	topic := fanout("fan", "a", "b")
	wantErr(t, "unknown topic", b.Faults().Inject("fan", driver.Record{}), driver.ErrNoTopic)
	ra, rb := receiver(t, b, "a", topic), receiver(t, b, "b", topic)
	for range 2 {
		err := b.Faults().Inject("fan", driver.Record{
			Body:    []byte("foreign"),
			Control: driver.Control{Attempt: 9},
			Headers: []driver.Header{
				{Key: "x", Value: "kept"},
				{Key: driver.IDHeader, Value: "id"},
				{Key: driver.ControlHeader, Value: "garbage"},
				{Key: driver.ContentTypeHeader, Value: "text/plain"},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []driver.Receiver{ra, rb} {
		d := take(t, r, 1)[0]
		want(t, "delivery", fmt.Sprintf("%s %v %s %s %v", d.Body, d.Headers, d.ID, d.ContentType, d.Control),
			fmt.Sprintf("foreign [{x kept}] id text/plain %v", driver.Control{}))
	}
}

// The switches of a closed broker do nothing, also after somebody asked it with one of them on.
func TestFaultsOfAClosedBroker(t *testing.T) {
	t.Parallel()
	b, s, _ := one(t, mem.Config{})
	f := b.Faults()
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f.Disconnect(mem.SoftCut)
		wantErr(t, "send", s.Send(brief(t), records("x")), driver.ErrClosed)
		f.Reconnect()
		f.Clear()
	}
}
