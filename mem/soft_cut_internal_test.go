package mem

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry/driver"
)

// A receiver that sees a cut keeps the wake of the reconnect that comes while it leaves those that wait: it would sleep for ever
// without it.
func TestSoftCutKeepsTheWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{})
		defer b.Close(context.Background())
		topic := driver.Topic{Name: "orders"}
		s, err := b.OpenSender(t.Context(), driver.Target{Topic: topic})
		if err != nil {
			t.Fatal(err)
		}
		opened, err := b.OpenQueue(t.Context(), driver.Source{Topics: []driver.Topic{topic}})
		if err != nil {
			t.Fatal(err)
		}
		r := opened.(*receiver)
		q := r.members[0].q
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for range 20 {
			got := make(chan error, 1)
			go func() {
				ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 1))
				if err == nil {
					err = r.Settle(ctx, []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}})
				}
				got <- err
			}()
			synctest.Wait()
			q.mu.Lock()
			b.Faults().Disconnect(SoftCut)
			for i := 0; len(r.wake) > 0 || i < 1000; i++ {
				runtime.Gosched() // it looks, sees the cut, and stands before the lock
			}
			b.Faults().Reconnect()
			q.mu.Unlock()
			synctest.Wait()
			if err := s.Send(ctx, make([]driver.Record, 1)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case err := <-got:
				if err != nil {
					t.Error(err)
				}
			default:
				t.Fatal("the receiver sleeps, and the broker is back")
			}
		}
	})
}

// What is damaged is damaged whatever it says.
func TestDamagedStateIsAnother(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"gap1AA-CeyHB", "gap1aa-ceyhb", "gap1__012345"} {
		if damaged(state) == state {
			t.Errorf("%s is as it was", state)
		}
	}
	if damaged("") != "" {
		t.Error("a state was made of nothing")
	}
}
