package demo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rate     int
		duration time.Duration
		want     int
	}{
		"every five milliseconds": {200, time.Second, 200},
		"finer than a timer":      {1_000_000, 10 * time.Millisecond, 10_000},
		"one":                     {1, time.Millisecond, 1},
		"slower than the run":     {1, 2500 * time.Millisecond, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), test.duration)
				defer stop()
				begin := time.Now()
				p := newPace(test.rate)
				n := 0
				for p.wait(ctx) {
					n++
				}
				if n != test.want {
					t.Errorf("%d were due, want %d", n, test.want)
				}
				if took := time.Since(begin); took != test.duration {
					t.Errorf("it took %v, want %v", took, test.duration)
				}
			})
		})
	}
}

// TestPaceHeldUp holds the pace up for a while. It catches up on a second of that.
func TestPaceHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(100)
		if !p.wait(t.Context()) {
			t.Fatal("the first is not due")
		}
		for held, want := range map[time.Duration]int{500 * time.Millisecond: 50, time.Hour: 1} {
			time.Sleep(held)
			n := 0
			for begin := time.Now(); time.Since(begin) == 0; n++ {
				p.wait(t.Context())
			}
			if n--; n < want-1 || n > want+1 {
				t.Errorf("after %v, %d were due at once, want %d", held, n, want)
			}
		}
	})
}
