package wherry_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Four workers share 32 messages of 100 ms, though each could hold them all: whether they are workers of one consumer or
// four consumers, and whether the messages are there before them or come when one of them asks.
func TestFault30WorkersShare(t *testing.T) {
	t.Parallel()
	const workers, n = 4, 32
	together := func(s shape, b *mem.Broker, h wherry.Handler[order]) []wherry.Runner {
		return []wherry.Runner{s.runner(b, h, wherry.Prefetch(n), wherry.Workers(workers))}
	}
	apart := func(s shape, b *mem.Broker, h wherry.Handler[order]) []wherry.Runner {
		var rs []wherry.Runner
		for range workers {
			rs = append(rs, s.runner(b, h, wherry.Prefetch(n)))
		}
		return rs
	}
	for how, runners := range map[string]func(shape, *mem.Broker, wherry.Handler[order]) []wherry.Runner{
		"workers": together, "consumers": apart,
	} {
		for when, before := range map[string]bool{"messages first": true, "workers first": false} {
			t.Run(how+", "+when, func(t *testing.T) {
				t.Parallel()
				for _, s := range allShapes {
					if how == "workers" && (s.name == "queue, many workers" || strings.HasPrefix(s.name, "pull")) {
						continue // it says itself how many
					}
					t.Run(s.name, func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) { shareOut(t, s, before, n, runners) })
					})
				}
			})
		}
	}
}

// shareOut takes the time until everything is handled.
func shareOut(t *testing.T, s shape, before bool, n int, runners func(shape, *mem.Broker, wherry.Handler[order]) []wherry.Runner) {
	t.Helper()
	b := newMem(t)
	done := make(chan struct{})
	var mu sync.Mutex
	times := make(map[int]int)
	h := func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
		time.Sleep(100 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		times[m.Value.ID]++
		if len(times) == n {
			close(done)
		}
		return wherry.Ack()
	}
	began := time.Now()
	if before {
		publishMany(t, b, s.topic, n)
	}
	r := start(t, runners(s, b, h)...)
	if !before {
		time.Sleep(10 * time.Millisecond)
		b.Faults().Stall("")
		publishMany(t, b, s.topic, n)
		b.Faults().Unstall("") // the first that asks could have them all
	}
	<-done
	took := time.Since(began)
	assert.True(t, took < 1200*time.Millisecond, "32 messages of 100 ms took "+took.String())
	r.mustEnd()
	for id := range n {
		assert.Equal(t, times[id], 1)
	}
	assert.Equal(t, s.left(t, b), 0)
}

// A worker that took what the others were too busy to take gives it back when they are idle.
func TestFault30IdleWorkersAreGivenWork(t *testing.T) {
	t.Parallel()
	single := slices.DeleteFunc(slices.Clone(allShapes), func(s shape) bool { return strings.HasPrefix(s.name, "batch") })
	inEach(t, single, func(t *testing.T, s shape) { // a batch is with its handler at once
		b := newMem(t)
		h := func(context.Context, *wherry.Message[order]) wherry.Outcome {
			time.Sleep(100 * time.Millisecond)
			return wherry.Ack()
		}
		publishMany(t, b, s.topic, 8)
		began := time.Now()
		busy := start(t, s.runner(b, h, wherry.Prefetch(32)))
		time.Sleep(10 * time.Millisecond)
		others := start(t, s.runner(b, h, wherry.Prefetch(32)), s.runner(b, h, wherry.Prefetch(32)), s.runner(b, h, wherry.Prefetch(32)))
		for s.left(t, b) > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		took := time.Since(began)
		assert.True(t, took < 400*time.Millisecond, "8 messages of 100 ms took "+took.String())
		busy.mustEnd()
		others.mustEnd()
	})
}
