//go:build !race

package mem_test

import (
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A transaction is one allocation, however many deliveries it settles and however many records are sent in it: what it keeps of
// them is used again by the next.
func TestTransactionAllocatesItself(t *testing.T) { //nolint:paralleltest // Allocations are counted for the whole process.
	const many = 64
	b := open(t, mem.Config{})
	in, out := queueTopic("in"), queueTopic("out")
	s, r := sender(t, b, driver.Target{Topic: in}), receiver(t, b, "", out)
	tx, err := b.OpenTransacted(t.Context(), driver.Source{Topics: []driver.Topic{in}, Prefetch: many})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close(t.Context())
	records := make([]driver.Record, many)
	for i := range records {
		records[i] = driver.Record{ID: driver.ID{Prefix: 1, Seq: uint64(i) + 1}, Body: make([]byte, 64)}
	}
	got, seen := make([]*driver.Delivery, 0, many), make([]*driver.Delivery, 0, many)
	done := make([]driver.Settlement, many)
	settle := func(ds []*driver.Delivery) []driver.Settlement {
		for i, d := range ds {
			done[i] = driver.Settlement{Delivery: d, Verdict: driver.Done}
		}
		return done[:len(ds)]
	}
	ctx, target := t.Context(), driver.Target{Topic: out}
	once := func() {
		if err := s.Send(ctx, records); err != nil {
			t.Fatal(err)
		}
		ds, open, err := tx.Next(ctx, got[:0])
		if err != nil || len(ds) != many {
			t.Fatalf("Next brought %d deliveries and %v", len(ds), err)
		}
		if err := open.Send(ctx, target, records); err != nil {
			t.Fatal(err)
		}
		if err := open.Commit(ctx, settle(ds)); err != nil {
			t.Fatal(err)
		}
		ds, err = r.Receive(ctx, seen[:0])
		if err != nil || len(ds) != many {
			t.Fatalf("Receive brought %d deliveries and %v", len(ds), err)
		}
		if err := r.Settle(ctx, settle(ds)); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		once()
	}
	if n := testing.AllocsPerRun(500, once); n != 1 {
		t.Errorf("a transaction of %d deliveries that sends as many allocates %v times, want once", many, n)
	}
}
