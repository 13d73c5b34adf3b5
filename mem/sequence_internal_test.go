package mem

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A settlement may find that a lease ended before the timer does. What was earlier of the key, and is as late, does not come
// again behind it.
func TestLapsedLeaseTakesItsKeyAlong(t *testing.T) {
	t.Parallel()
	b := New(Config{Lease: time.Hour})
	defer func() { _ = b.Close(t.Context()) }()
	topic := driver.Topic{Name: "orders"}
	s, err := b.OpenSender(t.Context(), driver.Target{Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.OpenSequence(t.Context(), driver.Source{Topics: []driver.Topic{topic}, Prefetch: 8})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := s.Send(t.Context(), []driver.Record{{Key: []byte("k"), Body: fmt.Append(nil, i)}}); err != nil {
			t.Fatal(err)
		}
	}
	ds, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 8))
	if err != nil || len(ds) != 3 {
		t.Fatal(len(ds), err)
	}
	q := entryOf(ds[0]).q
	q.mu.Lock()
	for _, d := range ds {
		entryOf(d).end = 1
	}
	q.mu.Unlock()
	if err := r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[1]}}); !errors.Is(err, driver.ErrRevoked) {
		t.Errorf("a settlement past its lease: %v", err)
	}
	again, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 8))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, d := range again {
		got += string(d.Body)
	}
	if got != "012" {
		t.Errorf("came again: %s, want 012", got)
	}
}
