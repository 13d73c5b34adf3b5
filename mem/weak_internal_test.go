package mem

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A number whose lease ended is forgotten, so that numbers do not pile up over a long tenure. What comes late by it is refused.
func TestWeakTagsEndWithTheirLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Lease: time.Second, Weak: Weak{ReuseTags: true}})
		defer b.Close(t.Context())
		topic := driver.Topic{Name: "orders"}
		s, err := b.OpenSender(t.Context(), driver.Target{Topic: topic})
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.OpenQueue(t.Context(), driver.Source{Topics: []driver.Topic{topic}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), make([]driver.Record, 1)); err != nil {
			t.Fatal(err)
		}
		for range 9 {
			ds, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			err = r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}})
			if !errors.Is(err, driver.ErrRevoked) {
				t.Errorf("a late settlement: %v", err)
			}
		}
		m := r.(leased).members[0]
		m.q.mu.Lock()
		defer m.q.mu.Unlock()
		if n := len(m.tags.hand); n > 0 {
			t.Errorf("%d numbers are kept, and nothing is in hand", n)
		}
	})
}
