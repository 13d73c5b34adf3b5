package load

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/bench/matrix"
)

// took is how long a handler's work takes for some messages, each in turn.
func took(t *testing.T, handler string, messages uint32) []time.Duration {
	t.Helper()
	w, err := workOf(handler)
	if err != nil {
		t.Fatal(err)
	}
	var all []time.Duration
	for id := range messages {
		begun := time.Now()
		w(t.Context(), id)
		all = append(all, time.Since(begun))
	}
	return all
}

func TestSleepingHandlers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		handler           string
		least, mean, most time.Duration
	}{
		{matrix.Wait, waitLeast, 3 * time.Millisecond, waitMost},
		{matrix.Slow, slowLeast, 175 * time.Millisecond, slowMost},
		{matrix.Sleep, nap, nap, nap},
		{matrix.Limited, slotTime, slotTime, slotTime},
	} {
		t.Run(c.handler, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var sum time.Duration
				all := took(t, c.handler, 1000)
				for _, d := range all {
					if d < c.least || d > c.most {
						t.Fatalf("took %v, want %v to %v", d, c.least, c.most)
					}
					sum += d
				}
				if mean := sum / time.Duration(len(all)); mean < c.mean*9/10 || mean > c.mean*11/10 {
					t.Errorf("took %v in the mean, want %v", mean, c.mean)
				}
			})
		})
	}
}

// Eight handlers with four slots take turns.
func TestLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, err := workOf(matrix.Limited)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		var all sync.WaitGroup
		for id := range uint32(2 * slots) {
			all.Go(func() { w(t.Context(), id) })
		}
		all.Wait()
		if d := time.Since(begun); d != 2*slotTime {
			t.Errorf("took %v, want %v", d, 2*slotTime)
		}
	})
}

func TestCompute(t *testing.T) {
	t.Parallel()
	for _, d := range took(t, matrix.Compute, 3) {
		if d < time.Microsecond {
			t.Errorf("took %v, too little to be work", d)
		}
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	for _, d := range took(t, matrix.Call, 3) {
		if d < matrix.CallTime {
			t.Errorf("took %v, want %v at least", d, matrix.CallTime)
		}
	}
}

func TestWorkOf(t *testing.T) {
	t.Parallel()
	if w, err := workOf(matrix.Zero); w != nil || err != nil {
		t.Errorf("zero does something: %v", err)
	}
	if _, err := workOf("idle"); err == nil || !strings.Contains(err.Error(), `no handler "idle"`) {
		t.Errorf("got %v", err)
	}
}
