package wherry_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
)

// Messages that take some time, as calls over a network do, and less than the linger: one lane is done with some in each, and the
// others are woken all the same.
func TestLanesOfMessagesThatTakeSomeTime(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]wherry.ConsumeOption{
		"default prefetch": {wherry.Concurrency(64)},
		"prefetch 4096":    {wherry.Concurrency(64), wherry.Prefetch(4096)},
	} {
		for _, each := range []time.Duration{300 * time.Microsecond, 500 * time.Microsecond, 900 * time.Microsecond, 1100 * time.Microsecond} {
			t.Run(name+" "+each.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { lanesOf(t, each, opts...) })
			})
		}
	}
}

func lanesOf(t *testing.T, each time.Duration, opts ...wherry.ConsumeOption) {
	t.Helper()
	r := startQuick(t, opts...)
	const total = 4096
	begin, all := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var begun time.Time
	var eight time.Duration // until so many were handled at once
	now, done := 0, 0
	r.set(func(m *wherry.Message[order]) {
		if m.Value.ID == 0 {
			<-begin
			return
		}
		mu.Lock()
		if now++; now == 8 && eight == 0 {
			eight = time.Since(begun)
		}
		mu.Unlock()
		time.Sleep(each)
		mu.Lock()
		now--
		if done++; done == total {
			close(all)
		}
		mu.Unlock()
	})
	r.send(0)
	synctest.Wait()
	for id := 1; id <= total; id++ {
		r.send(id)
	}
	begun = time.Now()
	close(begin)
	<-all
	if eight == 0 || eight > 15*time.Millisecond {
		t.Errorf("it took %v until eight lanes of 64 worked", eight)
	}
	if took := time.Since(begun); took > 4*total/64*each+20*time.Millisecond {
		t.Errorf("all took %v", took)
	}
}

// A handler may copy its message while others are settled, on a broker with leases too. It is for the race detector.
func TestCloneBesideLeases(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{Lease: time.Minute})
	defer b.Close(context.Background())
	const total = 3000
	var left sync.WaitGroup
	left.Add(total)
	r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
		if c := m.Clone(); c.Value != m.Value || c.ID() != m.ID() {
			t.Errorf("the copy of %v is %v", m.Value, c.Value)
		}
		left.Done()
		return wherry.Ack()
	}, wherry.Concurrency(4)))
	for id := range total {
		publish(t, b, orders, order{ID: id})
	}
	left.Wait()
	r.mustEnd()
}
