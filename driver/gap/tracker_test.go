package gap_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/driver/gap"
	"github.com/wherryhq/wherry/internal/assert"
)

// receive has the log bring positions from one up to, but not including, another, and wants each delivered.
func receive(t *testing.T, tr *gap.Tracker, from, end uint64) {
	t.Helper()
	for p := from; p < end; p++ {
		if fresh, err := tr.Receive(p); !fresh || err != nil {
			t.Fatalf("receive %d: %v, %v", p, fresh, err)
		}
	}
}

func done(t *testing.T, tr *gap.Tracker, ps ...uint64) {
	t.Helper()
	for _, p := range ps {
		if err := tr.Done(p); err != nil {
			t.Fatal(err)
		}
	}
}

// Ten records, the first blocks, the rest is done, and the process dies: the first comes again, and where the broker keeps no
// state the others too.
func TestFault1CommitStaysAtTheFirstUnfinished(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 4096} {
		c := gap.Config{MaxState: room}
		tr := gap.New(c, 100)
		receive(t, tr, 100, 110)
		done(t, tr, 103, 101, 102, 109, 104, 105, 107, 108, 106)
		assert.Equal(t, tr.Commit(), 100)

		next := gap.New(c, tr.Commit())
		assert.NoError(t, next.Restore(string(tr.AppendState(nil)), math.MaxUint64))
		again := 0
		for p := uint64(100); p < 110; p++ {
			fresh, err := next.Receive(p)
			assert.NoError(t, err)
			if fresh {
				again++
				done(t, next, p)
			}
		}
		assert.Equal(t, next.Commit(), 110)
		if want := map[int]int{0: 10, 4096: 1}[room]; again != want {
			t.Errorf("%d come again with %d bytes of state, want %d", again, room, want)
		}
	}
}

// One stuck message with a million finished above it is one run, and its state a few bytes.
func TestOneStuckPositionCostsOneRun(t *testing.T) {
	t.Parallel()
	tr := gap.New(gap.Config{MaxState: 4096}, 0)
	receive(t, tr, 0, 1)
	for p := uint64(1); p <= 1_000_000; p++ {
		if fresh, err := tr.Receive(p); !fresh || err != nil {
			t.Fatal(p, fresh, err)
		}
		if err := tr.Done(p); err != nil {
			t.Fatal(err)
		}
	}
	want := gap.Status{Commit: 0, Next: 1_000_001, InHand: 1, Finished: 1_000_000, Runs: 1, State: 15}
	assert.Equal(t, tr.Status(), want)
	done(t, tr, 0)
	assert.Equal(t, tr.Status(), gap.Status{Commit: 1_000_001, Next: 1_000_001})
}

// A window fills to three quarters of what the broker takes, stays full until half of it is left, and fills again. What is in
// hand when it fills still fits into the state.
func TestWindowFillsAndDrains(t *testing.T) {
	t.Parallel()
	const room = 4096
	tr := gap.New(gap.Config{MaxState: room}, 0)
	next, low := uint64(0), uint64(0)
	for range 3 {
		for !tr.Paused() {
			receive(t, tr, next, next+2)
			done(t, tr, next+1)
			next += 2
		}
		s := tr.Status()
		if s.State < room*3/4 || s.State > room*3/4+4 {
			t.Errorf("full with %d bytes of %d", s.State, room)
		}
		if text := tr.Waiting(); !strings.Contains(text, "full behind position") {
			t.Errorf("waits for %q", text)
		}
		for tr.Paused() {
			if s = tr.Status(); s.State <= room/2 {
				t.Errorf("still full with %d bytes", s.State)
			}
			done(t, tr, low)
			low += 2
		}
		if s = tr.Status(); s.State > room/2 || s.State < room/2-4 {
			t.Errorf("room again with %d bytes of %d", s.State, room)
		}
		assert.Equal(t, tr.Waiting(), "")
	}

	for !tr.Paused() {
		receive(t, tr, next, next+2)
		done(t, tr, next+1)
		next += 2
	}
	receive(t, tr, next, next+1000) // what the client had fetched
	for p := next + 1; p < next+1000; p += 2 {
		done(t, tr, p)
	}
	s := tr.Status()
	if n := len(tr.AppendState(nil)); n != s.State || n > room {
		t.Errorf("%d bytes of state, %d are written", s.State, n)
	}
	again := gap.New(gap.Config{}, tr.Commit())
	assert.NoError(t, again.Restore(string(tr.AppendState(nil)), math.MaxUint64))
	assert.Equal(t, again.Status().Finished, s.Finished)
}

// The span alone fills the window too, with the same distance between full and not.
func TestSpanFillsTheWindow(t *testing.T) {
	t.Parallel()
	tr := gap.New(gap.Config{MaxSpan: 100}, 7)
	receive(t, tr, 7, 106)
	assert.True(t, !tr.Paused(), "99 above the commit position")
	receive(t, tr, 106, 107)
	assert.True(t, tr.Paused(), "100 above the commit position")
	assert.Equal(t, tr.Waiting(), "log window full behind position 7")
	assert.NoError(t, tr.Release(7))
	assert.Equal(t, tr.Waiting(), "log window full behind position 7, which was released")
	p, ok := tr.Redeliver()
	assert.True(t, ok && p == 7, "the one that all waits for")
	for p := uint64(7); p < 56; p++ {
		done(t, tr, p)
		assert.True(t, tr.Paused(), "more than half")
	}
	done(t, tr, 56)
	assert.True(t, !tr.Paused(), "half")
}

// A restored state of any size does not pause the intake of what it is about, since only that can make it smaller.
func TestRestoredWindowIsReadOn(t *testing.T) {
	t.Parallel()
	c := gap.Config{MaxState: 100}
	full := gap.New(gap.Config{MaxState: 100}, 0)
	receive(t, full, 0, 200)
	for p := uint64(1); p < 90; p += 2 {
		done(t, full, p)
	}
	assert.True(t, full.Paused(), "that is full")

	tr := gap.New(c, full.Commit())
	assert.NoError(t, tr.Restore(string(full.AppendState(nil)), math.MaxUint64))
	assert.Equal(t, tr.Status().State, 100)
	for p := range uint64(90) {
		assert.True(t, !tr.Paused(), "it reads what the state is about")
		fresh, err := tr.Receive(p)
		assert.NoError(t, err)
		assert.Equal(t, fresh, p%2 == 0)
	}
	assert.True(t, tr.Paused(), "all of that is read, and nothing of it done")
	for p := uint64(0); tr.Paused(); p += 2 {
		done(t, tr, p)
	}
	receive(t, tr, 90, 91)
}

// A driver may read on above what a restored state says is finished.
func TestNextPassesWhatIsFinished(t *testing.T) {
	t.Parallel()
	old := gap.New(gap.Config{MaxState: 100}, 10)
	receive(t, old, 10, 40)
	for p := uint64(11); p < 30; p++ {
		done(t, old, p)
	}
	assert.Equal(t, old.Next(), 40)

	tr := gap.New(gap.Config{}, 10)
	assert.NoError(t, tr.Restore(string(old.AppendState(nil)), math.MaxUint64))
	assert.Equal(t, tr.Next(), 10)
	receive(t, tr, 10, 11)
	assert.Equal(t, tr.Next(), 30)
	done(t, tr, 10)
	assert.Equal(t, tr.Commit(), 30)
	receive(t, tr, 30, 31)
	assert.Equal(t, tr.Commit(), 30)
}

// What the log does not have holds up nothing, takes no room, and is no part of what comes.
func TestHolesAreFinished(t *testing.T) {
	t.Parallel()
	tr := gap.New(gap.Config{MaxState: 100}, 5)
	receive(t, tr, 1000, 1001)
	assert.Equal(t, tr.Commit(), 1000)
	for p := uint64(2000); p < 100_000; p += 1000 {
		receive(t, tr, p, p+1)
		done(t, tr, p)
	}
	assert.Equal(t, tr.Status().Runs, 1)
	done(t, tr, 1000)
	assert.Equal(t, tr.Commit(), 99_001)
}

// After a Rewind the log brings again what was released, and nothing else, even in a pause.
func TestRewindBringsBackWhatWasReleased(t *testing.T) {
	t.Parallel()
	tr := gap.New(gap.Config{MaxSpan: 5}, 0)
	receive(t, tr, 0, 5)
	done(t, tr, 1)
	assert.NoError(t, tr.Release(0))
	assert.NoError(t, tr.Release(3))
	assert.True(t, tr.Paused(), "full")
	tr.Rewind(0)
	var again []uint64
	for p := range uint64(5) {
		assert.True(t, !tr.Paused(), "what was read comes again")
		fresh, err := tr.Receive(p)
		assert.NoError(t, err)
		if fresh {
			again = append(again, p)
		}
	}
	assert.Equal(t, again, []uint64{0, 3})
	assert.True(t, tr.Paused(), "full again")
	_, ok := tr.Redeliver()
	assert.True(t, !ok, "nothing is released any more")
	tr.Rewind(1000)
	receive(t, tr, 5, 6)
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	tr := gap.New(gap.Config{}, 10)
	receive(t, tr, 10, 12)
	assert.NoError(t, tr.Release(11))
	fresh, err := tr.Receive(11)
	assert.True(t, !fresh, "it came before")
	for want, c := range map[string]struct{ err, kind error }{
		"gap: receive 11: out of order: the next is 12 or above":                               {err, gap.ErrOrder},
		"gap: done 12: not in hand: it was not received, the next is 12":                       {tr.Done(12), gap.ErrNotInHand},
		"gap: done 11: not in hand: it was released":                                           {tr.Done(11), gap.ErrNotInHand},
		"gap: release 11: not in hand: it was released":                                        {tr.Release(11), gap.ErrNotInHand},
		"gap: release 9: not in hand: it was not received, or it is finished":                  {tr.Release(9), gap.ErrNotInHand},
		"gap: restore: no state of this log at this position: it does not begin with gap1":     {gap.New(gap.Config{}, 1).Restore("x", math.MaxUint64), gap.ErrState},
		"gap: restore: no state of this log at this position: it is cut off, and has no check": {gap.New(gap.Config{}, 1).Restore("gap1A", math.MaxUint64), gap.ErrState},
	} {
		if c.err == nil || c.err.Error() != want || !errors.Is(c.err, c.kind) {
			t.Errorf("got %v, want %s", c.err, want)
		}
	}
}

// The largest position has none above it to commit, so it cannot be received.
func TestLastPositions(t *testing.T) {
	t.Parallel()
	tr := gap.New(gap.Config{MaxState: 100}, math.MaxUint64-3)
	receive(t, tr, math.MaxUint64-3, math.MaxUint64)
	done(t, tr, math.MaxUint64-2, math.MaxUint64-1)
	_, err := tr.Receive(math.MaxUint64)
	assert.ErrorIs(t, err, gap.ErrOrder)
	again := gap.New(gap.Config{}, tr.Commit())
	assert.NoError(t, again.Restore(string(tr.AppendState(nil)), math.MaxUint64))
	assert.Equal(t, again.Status().Finished, 2)
	done(t, tr, math.MaxUint64-3)
	assert.Equal(t, tr.Commit(), math.MaxUint64)
}

func TestZeroTracker(t *testing.T) {
	t.Parallel()
	var zero gap.Tracker
	receive(t, &zero, 0, 3)
	done(t, &zero, 1)
	assert.True(t, !zero.Paused(), "it has the default bounds")
	same := gap.New(gap.Config{MaxState: -1}, 0)
	receive(t, same, 0, 3)
	done(t, same, 1)
	assert.Equal(t, zero.Status(), same.Status())
	assert.Equal(t, len(zero.AppendState(nil)), 0)
}

// What compaction took while it was released is passed over by the next reading, and holds up nothing any more.
func TestRewindPassesOverWhatWasCompacted(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]uint64{"the last of what was read": 5, "one before": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := gap.New(gap.Config{MaxSpan: 5}, 0)
			receive(t, tr, 0, 5)
			for _, p := range []uint64{0, 2, 4} {
				done(t, tr, p)
			}
			assert.NoError(t, tr.Release(1))
			assert.NoError(t, tr.Release(3))
			tr.Rewind(1)
			fresh, err := tr.Receive(next)
			assert.NoError(t, err)
			assert.True(t, fresh, "it was released, or is new")
			assert.Equal(t, tr.Commit(), next)
			assert.Equal(t, tr.Status().Released, 0)
			assert.Equal(t, tr.Status().InHand, 1)
			assert.True(t, !tr.Paused(), "nothing is waited for")
		})
	}
}

// A state of a log that has lost its end since is not used: other records get the positions that it says are finished.
func TestRestoreKnowsTheEndOfTheLog(t *testing.T) {
	t.Parallel()
	old := gap.New(gap.Config{MaxState: 100}, 0)
	receive(t, old, 0, 10)
	done(t, old, 9)
	state := string(old.AppendState(nil))
	for _, end := range []uint64{0, 5, 9} {
		tr := gap.New(gap.Config{}, 0)
		assert.ErrorIs(t, tr.Restore(state, end), gap.ErrState)
		receive(t, tr, 0, 20)
	}
	tr := gap.New(gap.Config{}, 0)
	assert.NoError(t, tr.Restore(state, 10))
	assert.Equal(t, tr.Status().Finished, 1)
}
