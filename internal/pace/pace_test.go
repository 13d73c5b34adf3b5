package pace_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/internal/pace"
)

const receive = 256

// run brings a Receive's worth n times, each done after the given time, and returns how many of them were for one alone.
func run(p *pace.Pace, n int, took time.Duration) (alone int) {
	for range n {
		p.Begin(receive)
		if p.Quick() {
			alone++
		}
		time.Sleep(took)
		p.End()
	}
	return alone
}

func TestPace(t *testing.T) {
	t.Parallel()
	const proof = 4 // times receive are enough messages
	for _, c := range []struct {
		name       string
		took       time.Duration
		n          int
		most, last int // alone in all, and in the last 8
	}{
		{"proves itself", 10 * time.Microsecond, proof, 0, 0},
		{"quick", 10 * time.Microsecond, 100, 96, 8},
		{"not worth waking", 29 * time.Microsecond, 100, 96, 8},
		{"tried now and then", 60 * time.Microsecond, 1000, 150, 1},
		{"not tried", 500 * time.Microsecond, 1000, 40, 0},
		{"slow", 2 * time.Millisecond, 100, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var p pace.Pace
				alone := run(&p, max(0, c.n-8), c.took)
				last := run(&p, min(c.n, 8), c.took)
				if alone += last; alone > c.most || last != c.last {
					t.Errorf("of %d, %d were for one alone, want at most %d; of the last 8, %d, want %d", c.n, alone, c.most, last, c.last)
				}
			})
		})
	}
}

// Several that share what is brought may need longer for it than one does: then one alone is tried, and in the end stays.
func TestPaceTriesOneAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace.Pace
		run(&p, 100, 150*time.Microsecond)
		for range 1000 {
			p.Begin(receive)
			if p.Quick() {
				time.Sleep(10 * time.Microsecond)
			} else {
				time.Sleep(150 * time.Microsecond)
			}
			p.End()
		}
		if alone := run(&p, 8, 10*time.Microsecond); alone != 8 {
			t.Errorf("%d of the last 8 were for one alone, want all", alone)
		}
	})
}

// What was found slow has to prove itself again, and what nobody came back from is not measured twice.
func TestPaceSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace.Pace
		run(&p, 100, 0)
		p.Begin(receive)
		if !p.Quick() {
			t.Fatal("not quick after 100 quick ones")
		}
		p.Slow()
		if p.Quick() {
			t.Error("quick after Slow")
		}
		p.End()
		p.End()
		if alone := run(&p, 3, 0); alone != 0 {
			t.Errorf("%d times alone before it was proven again", alone)
		}
		if alone := run(&p, 2, 0); alone == 0 {
			t.Error("not quick after it was proven again")
		}
	})
}
