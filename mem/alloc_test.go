//go:build !race

package mem_test

import (
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// The race detector allocates and poisoned memory is never used again, so these hold in other builds alone. They do not
// run beside other tests, which would be counted.

//nolint:paralleltest // What runs beside it would be counted.
func TestSendAllocatesNothing(t *testing.T) {
	for name, topic := range map[string]driver.Topic{"queue": queueTopic("orders"), "fan-out": fanout("orders", "a", "b")} {
		for _, size := range []int{64, 16 << 10} {
			b := open(t, mem.Config{})
			s := sender(t, b, driver.Target{Topic: topic})
			var receivers []driver.Receiver
			if topic.Fanout {
				receivers = append(receivers, receiver(t, b, "a", topic), receiver(t, b, "b", topic))
			} else {
				receivers = append(receivers, receiver(t, b, "", topic))
			}
			batch := []driver.Record{{
				ID: driver.ID{Prefix: 1, Seq: 2}, Key: []byte("key"), Body: make([]byte, size),
				Headers: []driver.Header{{Key: "a", Value: "b"}}, ContentType: "text/plain",
			}}
			ds := make([]*driver.Delivery, 0, 4)
			ss := make([]driver.Settlement, 0, 4)
			round := func() {
				if err := s.Send(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
				for _, r := range receivers {
					got, err := r.Receive(t.Context(), ds[:0])
					if err != nil {
						t.Fatal(err)
					}
					if err := r.Settle(t.Context(), settleAll(ss[:0], got)); err != nil {
						t.Fatal(err)
					}
				}
			}
			round()
			if n := testing.AllocsPerRun(1000, round); n != 0 {
				t.Errorf("%s, %d bytes: %v allocations in send, receive and settle, want 0", name, size, n)
			}
		}
	}
}

//nolint:paralleltest // What runs beside it would be counted.
func TestBatchesAllocateNothing(t *testing.T) {
	l := newLoop(t, mem.Config{}, 1)
	batch := make([]driver.Record, 100)
	for i := range batch {
		batch[i].Body = make([]byte, 64)
	}
	ds := make([]*driver.Delivery, 0, len(batch))
	ss := make([]driver.Settlement, 0, len(batch))
	round := func() {
		if err := l.sender.Send(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		got, err := l.receivers[0].Receive(t.Context(), ds)
		if err != nil || len(got) != len(batch) {
			t.Fatal(len(got), err)
		}
		if err := l.receivers[0].Settle(t.Context(), settleAll(ss, got)); err != nil {
			t.Fatal(err)
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

//nolint:paralleltest // What runs beside it would be counted.
func TestReleaseAllocatesNothing(t *testing.T) {
	l := newLoop(t, mem.Config{}, 1)
	r := l.receivers[0]
	send(t, l.sender, "x")
	ds := make([]*driver.Delivery, 0, 1)
	ss := make([]driver.Settlement, 1)
	round := func() {
		got, err := r.Receive(t.Context(), ds)
		if err != nil {
			t.Fatal(err)
		}
		ss[0].Delivery = got[0]
		if err := r.Settle(t.Context(), ss); err != nil {
			t.Fatal(err)
		}
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
