package mem

import (
	"testing"

	"github.com/wherryhq/wherry/driver"
)

func TestHandDoesNotGrowWhileItIsNeverEmpty(t *testing.T) {
	t.Parallel()
	b := New(Config{})
	defer func() { _ = b.Close(t.Context()) }()
	topic := driver.Topic{Name: "orders"}
	s, err := b.OpenSender(t.Context(), driver.Target{Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.OpenQueue(t.Context(), driver.Source{Topics: []driver.Topic{topic}})
	if err != nil {
		t.Fatal(err)
	}
	var last *driver.Delivery
	for range 10_000 {
		if err := s.Send(t.Context(), make([]driver.Record, 1)); err != nil {
			t.Fatal(err)
		}
		ds, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			if err := r.Settle(t.Context(), []driver.Settlement{{Delivery: last, Verdict: driver.Done}}); err != nil {
				t.Fatal(err)
			}
		}
		last = ds[0]
	}
	m := r.(*receiver).members[0]
	if c := cap(m.hand); c > 64 {
		t.Errorf("the hand has grown to %d for 2 deliveries", c)
	}
	if m.held != 1 || m.q.inFlight != 1 {
		t.Errorf("%d held, %d in flight, want 1 and 1", m.held, m.q.inFlight)
	}
}
