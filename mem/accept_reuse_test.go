//go:build !race

package mem_test

import (
	"runtime"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A large body is as cheap to accept as a small one, and its buffer comes back once it is done. In race builds none does.
func TestAcceptExchangesLargeBuffers(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{})
	topic := queueTopic("orders")
	a, r := accepter(t, b, topic), receiver(t, b, "", topic)
	var before *byte
	for i := range 3 {
		rec := driver.Record{Body: make([]byte, 32<<10)}
		mine := &rec.Body[0]
		if !a.Accept(&rec) {
			t.Fatal("a large body was not accepted")
		}
		switch {
		case i == 0 && cap(rec.Body) != 0:
			t.Errorf("a buffer of %d bytes came from nowhere", cap(rec.Body))
		case i > 0 && (cap(rec.Body) != 32<<10 || &rec.Body[:1][0] != before):
			t.Errorf("a buffer of %d bytes came back, want the one before", cap(rec.Body))
		}
		before = mine
		settle(t, r, driver.Done, take(t, r, 1)...)
	}
}

// After a backlog the buffers of its records are used again, whatever way the next ones come.
func TestBuffersOfABacklogAreUsedAgain(t *testing.T) { //nolint:paralleltest // It counts what the whole process allocates.
	const size, backlog, again = 2 << 10, 4096, 200 // 8 MiB, of which free entries keep a half
	b := mem.New(mem.Config{})
	topic := queueTopic("orders")
	a, r := accepter(t, b, topic), receiver(t, b, "", topic)
	s := sender(t, b, driver.Target{Topic: topic})
	body := make([]byte, size)
	for name, send := range map[string]func(){
		"copied": func() {
			if !a.AcceptCopy(body, "", 1) {
				t.Fatal("a body was not accepted")
			}
		},
		"sent": func() {
			if err := s.Send(t.Context(), []driver.Record{{Body: body}}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		round := func(n int) {
			for range n {
				send()
			}
			for left := n; left > 0; {
				ds := take(t, r, 64)
				left -= len(ds)
				settle(t, r, driver.Done, ds...)
			}
		}
		round(backlog)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range again {
			round(1)
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / again; got > size*3/4 {
			t.Errorf("%s: a record after the backlog costs %d bytes", name, got)
		}
	}
}
