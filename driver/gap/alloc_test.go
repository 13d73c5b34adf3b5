//go:build !race

package gap_test

import (
	"testing"

	"github.com/wherryhq/wherry/driver/gap"
)

// wantNoAllocations runs rounds until the tracker has grown, and then counts.
func wantNoAllocations(t *testing.T, name string, round func()) {
	t.Helper()
	for range 1000 {
		round()
	}
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%s: %v allocations in a round, want 0", name, n)
	}
}

//nolint:paralleltest // What runs beside it would be counted.
func TestTrackerAllocatesNothing(t *testing.T) {
	var next uint64
	tr := gap.New(gap.Config{MaxState: 4096}, 0)
	wantNoAllocations(t, "in order", func() {
		receive(t, tr, next, next+1)
		done(t, tr, next)
		next++
	})

	stuck := gap.New(gap.Config{MaxState: 4096}, 0)
	receive(t, stuck, 0, 1)
	next = 1
	wantNoAllocations(t, "behind a stuck one", func() {
		receive(t, stuck, next, next+1)
		done(t, stuck, next)
		next++
	})

	const window = 256
	ragged := gap.New(gap.Config{MaxState: 4096}, 0)
	receive(t, ragged, 0, 2*window)
	for p := uint64(1); p < window; p += 2 {
		done(t, ragged, p)
	}
	next = 0
	state := make([]byte, 0, 4096)
	wantNoAllocations(t, "with runs that come and go", func() {
		receive(t, ragged, next+2*window, next+2*window+2)
		done(t, ragged, next+window+1, next)
		next += 2
		if err := ragged.Release(next); err != nil {
			t.Fatal(err)
		}
		if p, ok := ragged.Redeliver(); p != next || !ok {
			t.Fatalf("released %d, and %d, %v comes again", next, p, ok)
		}
		state = ragged.AppendState(state[:0])
	})
	if s := ragged.Status(); s.Runs < window/4 || s.Commit < next {
		t.Errorf("%+v, and there were to be many runs", s)
	}
}
