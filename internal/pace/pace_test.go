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
		{"tried now and then", 60 * time.Microsecond, 1024, 40, 1},
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

// What one of several may take at once is part of what is left, takes no longer than a wake, and is nothing where handlers have
// not proven to be quick.
func TestPaceShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		each       time.Duration // of a message, as one of those that share it sees it
		n, among   int
		want       int
		unproven   bool
		unmeasured bool
	}{
		{name: "a part of the rest", each: 100 * time.Nanosecond, n: 256, among: 2, want: 64},
		{name: "a smaller part of less", each: 100 * time.Nanosecond, n: 40, among: 2, want: 10},
		{name: "among more", each: 100 * time.Nanosecond, n: 256, among: 8, want: 16},
		{name: "the last ones one by one", each: 100 * time.Nanosecond, n: 3, among: 2, want: 0},
		{name: "no longer than a wake", each: 5 * time.Microsecond, n: 256, among: 2, want: 6},
		{name: "longer than a wake", each: 50 * time.Microsecond, n: 256, among: 2, want: 0},
		{name: "not measured", n: 256, among: 2, want: 0, unmeasured: true},
		{name: "not proven", each: 100 * time.Nanosecond, n: 256, among: 2, want: 0, unproven: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var p pace.Pace
				run(&p, 100, 500*time.Microsecond) // too long for one alone
				if c.unproven {
					p.Slow()
				}
				for range 50 {
					if !c.unmeasured {
						p.Each(10*c.each, 10)
					}
				}
				if got := p.Share(c.n, c.among); got != c.want {
					t.Errorf("may take %d, want %d", got, c.want)
				}
			})
		})
	}
}

// The time of a message follows what is measured, and one that is late changes it by a part of that only.
func TestPaceEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace.Pace
		run(&p, 100, 500*time.Microsecond)
		p.Each(time.Microsecond, 1)
		for _, c := range []struct {
			took time.Duration
			n    int
			want int
		}{
			{time.Microsecond, 1, 30},
			{8 * time.Microsecond, 1, 16},
			{0, 10, 18},
			{time.Second, 1, 9},
			{time.Second, 1, 5},
			{time.Second, 1, 2}, // stopped for a while, or that slow from now on
		} {
			p.Each(c.took, c.n)
			if got := p.Share(1000, 1); got != c.want {
				t.Errorf("after %v for %d it may take %d, want %d", c.took, c.n, got, c.want)
			}
		}
	})
}

// What costs less than to be fetched by another is for one alone, however much there is.
func TestPaceCheap(t *testing.T) {
	t.Parallel()
	for each, want := range map[time.Duration]bool{150 * time.Nanosecond: true, 250 * time.Nanosecond: false} {
		synctest.Test(t, func(t *testing.T) {
			var p pace.Pace
			run(&p, 100, 500*time.Microsecond)
			p.Each(each, 1)
			if p.Begin(receive); p.Quick() != want {
				t.Errorf("%v each: for one alone is %t, want %t", each, p.Quick(), want)
			}
		})
	}
}

// One that is to do all alone may take all.
func TestPaceShareOfOneAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace.Pace
		run(&p, 100, 0)
		p.Begin(receive)
		if got := p.Share(receive, 8); got != receive {
			t.Errorf("may take %d of %d, want all", got, receive)
		}
	})
}
