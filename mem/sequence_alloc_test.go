//go:build !race

package mem_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// As in alloc_test.go, these hold in builds without the race detector, and do not run beside other tests.

// thousandKeys is a batch with a record of each of 1,000 keys.
func thousandKeys() []driver.Record {
	batch := make([]driver.Record, 1000)
	for i := range batch {
		batch[i] = driver.Record{Key: fmt.Appendf(nil, "key %d", i), Body: make([]byte, 64)}
	}
	return batch
}

//nolint:paralleltest // What runs beside it would be counted.
func TestSequenceAllocatesNothing(t *testing.T) {
	for name, beside := range map[string]int{"alone": 1, "beside another": 2} {
		_, s, rs := owners(t, mem.Config{}, beside)
		batch := thousandKeys()
		ds := make([]*driver.Delivery, 0, len(batch))
		ss := make([]driver.Settlement, 0, len(batch))
		drain := func() {
			for left := len(batch); left > 0; left -= len(ds) {
				var err error
				if ds, err = rs[0].Receive(t.Context(), ds[:0]); err != nil {
					t.Fatal(err)
				}
				if err = rs[0].Settle(t.Context(), settleAll(ss[:0], ds)); err != nil {
					t.Fatal(err)
				}
			}
		}
		whole := func() { // every key comes to its end
			if err := s.Send(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			drain()
		}
		whole()
		if n := testing.AllocsPerRun(50, whole); n != 0 {
			t.Errorf("%s: %v allocations for 1,000 records of 1,000 keys, want 0", name, n)
		}
		if err := s.Send(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(50, whole); n != 0 {
			t.Errorf("%s: with as many waiting: %v allocations, want 0", name, n)
		}
	}
}

//nolint:paralleltest // What runs beside it would be counted.
func TestReleaseInASequenceAllocatesNothing(t *testing.T) {
	_, s, rs := owners(t, mem.Config{}, 1)
	if err := s.Send(t.Context(), thousandKeys()[:100]); err != nil {
		t.Fatal(err)
	}
	ds := make([]*driver.Delivery, 0, 100)
	ss := make([]driver.Settlement, 100)
	round := func() {
		got, err := rs[0].Receive(t.Context(), ds)
		if err != nil || len(got) != 100 {
			t.Fatal(len(got), err)
		}
		for i := range got {
			ss[i] = driver.Settlement{Delivery: got[i]}
		}
		if err := rs[0].Settle(t.Context(), ss); err != nil {
			t.Fatal(err)
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

//nolint:paralleltest // What runs beside it would be counted.
func TestKeysLeaveTheHeap(t *testing.T) {
	const keys, most = 100_000, 1 << 20
	for name, backlog := range map[string]int{"a thousand waiting": 1000, "a full queue": mem.DefaultMaxMessages} {
		b, s, rs := owners(t, mem.Config{}, 2)
		before := heap()
		batch := make([]driver.Record, 0, backlog)
		ds := make([]*driver.Delivery, 0, 1024)
		ss := make([]driver.Settlement, 0, 1024)
		for n := range keys {
			batch = append(batch, driver.Record{Key: fmt.Appendf(nil, "a key that was seen once: %d", n), Body: make([]byte, 64)})
			if len(batch) < backlog {
				continue
			}
			if err := s.Send(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			for left := len(batch); left > 0; left -= len(ds) {
				var err error
				if ds, err = rs[left%2].Receive(t.Context(), ds[:0]); err != nil {
					t.Fatal(err)
				}
				if err = rs[left%2].Settle(t.Context(), settleAll(ss[:0], ds)); err != nil {
					t.Fatal(err)
				}
			}
			batch = batch[:0]
		}
		batch, ds, ss = nil, nil, nil
		after := heap()
		runtime.KeepAlive([]any{b, s, rs, batch, ds, ss})
		t.Logf("%s: %d bytes more", name, int64(after)-int64(before))
		if after > before+most {
			t.Errorf("%s: %d keys left %d bytes, want at most %d", name, keys, after-before, most)
		}
	}
}

// heap is what is alive after two collections.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
