package pace_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/wherryhq/wherry/internal/pace"
)

// One at a time has the lock, and who waits longer than it has patience gets it too.
func TestLock(t *testing.T) {
	t.Parallel()
	const many, times = 4, 1000
	var mu sync.Mutex
	var all sync.WaitGroup
	n := 0
	pace.Lock(&mu)
	for range many {
		all.Go(func() {
			for range times {
				pace.Lock(&mu)
				n++
				mu.Unlock()
			}
		})
	}
	for range many * pace.Patience * 2 { // until they have no patience left
		runtime.Gosched()
	}
	mu.Unlock()
	all.Wait()
	if n != many*times {
		t.Errorf("counted to %d, want %d", n, many*times)
	}
}
