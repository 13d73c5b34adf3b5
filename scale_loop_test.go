package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// A scaling is a consumer of at first one worker with room for 100 messages, on a broker that says what it is told to.
type scaling struct {
	b     *toldBroker
	c     *wherry.Consumer
	run   *run
	ev    events
	began time.Time
}

func newScaling(t *testing.T, least, most int, opts ...wherry.ScaleOption) *scaling {
	t.Helper()
	s := &scaling{b: newTold(t), began: time.Now()}
	s.c = wherry.Consume(wherry.Queue(s.b, orders), done, wherry.Prefetch(100), wherry.DrainTime(0),
		wherry.WorkersBetween(least, most, opts...), wherry.OnEvent(s.ev.record))
	s.run = start(t, s.c)
	synctest.Wait()
	return s
}

// end stops it. What the broker says waits is not there.
func (s *scaling) end() {
	s.b.tell(0, 0)
	_ = s.run.end()
}

// till sleeps until so long after the start, and a moment more.
func (s *scaling) till(d time.Duration) {
	time.Sleep(time.Until(s.began.Add(d + time.Millisecond)))
	synctest.Wait()
}

// changes is when the number of workers changed, to what.
func (s *scaling) changes() string {
	var out []string
	for _, e := range eventsOf[*wherry.Scaled](&s.ev) {
		out = append(out, fmt.Sprintf("%d→%d", e.From, e.To))
	}
	return strings.Join(out, " ")
}

// More than twice the capacity scales up once it was so for ten seconds, and the event and health say so.
func TestScaleUpIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScaling(t, 1, 8)
		defer s.end()
		s.b.tell(201, 0)
		s.till(15*time.Second - 2*time.Millisecond)
		assert.Equal(t, s.c.Health().Workers, 1)
		assert.Equal(t, s.c.Health().Scaled, wherry.ScaleDecision{})
		s.till(15 * time.Second)
		h := s.c.Health()
		assert.Equal(t, h.Workers, 2)
		assert.Equal(t, h.MinWorkers, 1)
		assert.Equal(t, h.MaxWorkers, 8)
		want := wherry.ScaleDecision{
			At: s.began.Add(15 * time.Second), From: 1, To: 2, Why: "201 ready, 1 worker for 100",
		}
		assert.Equal(t, h.Scaled, want)
		es := eventsOf[*wherry.Scaled](&s.ev)
		assert.Equal(t, len(es), 1)
		assert.Equal(t, *es[0], wherry.Scaled{Origin: es[0].Origin, From: 1, To: 2, Why: want.Why})
		s.till(10 * time.Minute) // 201 is between the thresholds of two workers
		assert.Equal(t, s.changes(), "1→2")
	})
}

// Far behind, the steps grow, and there are thirty seconds between two of them.
func TestScaleStepsGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScaling(t, 1, 7)
		defer s.end()
		s.b.tell(10_000, 0)
		for _, step := range []struct {
			at   time.Duration
			want int
		}{{15 * time.Second, 2}, {45 * time.Second, 4}, {75 * time.Second, 7}} {
			s.till(step.at - 2*time.Millisecond)
			assert.True(t, s.c.Health().Workers < step.want, "a step came too early")
			s.till(step.at)
			assert.Equal(t, s.c.Health().Workers, step.want)
		}
		s.till(10 * time.Minute)
		assert.Equal(t, s.changes(), "1→2 2→4 4→7")
	})
}

// Less than half of the capacity scales down, one by one, to the least.
func TestScaleDownIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScaling(t, 2, 8, wherry.ScaleCooldown(0))
		defer s.end()
		s.b.tell(1400, 0)
		s.till(30 * time.Second)
		assert.Equal(t, s.c.Health().Workers, 7)
		s.b.tell(350, 0) // half of it
		s.till(10 * time.Minute)
		assert.Equal(t, s.c.Health().Workers, 7)
		s.b.tell(349, 0)
		s.till(10*time.Minute + 15*time.Second)
		assert.Equal(t, s.c.Health().Workers, 6)
		s.till(20 * time.Minute) // 349 is more than half of what six hold
		assert.Equal(t, s.c.Health().Workers, 6)
		s.b.tell(0, 0)
		s.till(30 * time.Minute)
		assert.Equal(t, s.c.Health().Workers, 2)
		assert.Equal(t, s.changes(), "2→4 4→7 7→6 6→5 5→4 4→3 3→2")
	})
}

// What goes up and down quicker than the hold changes nothing.
func TestFlappingBacklogScalesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				s := newScaling(t, 1, 9)
				defer s.end()
				s.b.tell(10_000, 0)
				s.till(45 * time.Second)
				assert.Equal(t, s.changes(), "1→2 2→4")
				for i := range 400 { // each stands for one look, or for two
					s.b.tell([]int64{0, 10_000}[i%2], 0)
					time.Sleep(time.Duration(5001+random.IntN(4900)) * time.Millisecond)
				}
				assert.Equal(t, s.changes(), "1→2 2→4")
			})
		})
	}
}

// What goes up and down more slowly changes something once per cooldown, at the most.
func TestSlowFlapsAreCooled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScaling(t, 1, 4)
		defer s.end()
		var last time.Time
		n := 0
		for i := range 100 {
			s.b.tell([]int64{5000, 0}[i%2], 0)
			time.Sleep(17 * time.Second)
			d := s.c.Health().Scaled
			if d.At.Equal(last) || d.At.IsZero() {
				continue
			}
			assert.True(t, last.IsZero() || d.At.Sub(last) >= 30*time.Second, "changed again after "+d.At.Sub(last).String())
			last = d.At
			n++
		}
		assert.True(t, n > 1, "nothing changed")
	})
}

// The change is to the nearest of what was wanted while it was held.
func TestScaleTakesTheNearestWish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dial{}
		s := newScaling(t, 1, 9, wherry.ScaleBy(d), wherry.ScaleCooldown(0))
		defer s.end()
		for i, n := range []int64{9, 3, 8} {
			d.want.Store(n)
			s.till(time.Duration(i+1) * 5 * time.Second)
		}
		assert.Equal(t, s.changes(), "1→3")
		for i, n := range []int64{1, 2, 1} {
			d.want.Store(n)
			s.till(time.Duration(i+4) * 5 * time.Second)
		}
		assert.Equal(t, s.changes(), "1→3 3→2")
	})
}

// While nobody knows what waits, or the consumer is paused, nothing changes, and the hold begins anew.
func TestScaleNeedsAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScaling(t, 1, 9)
		defer s.end()
		s.b.tell(5000, 0)
		s.b.fail(errors.New("no answer"), nil)
		s.till(time.Minute)
		s.b.fail(nil, nil)
		s.b.tell(-1, time.Hour) // the broker knows ages and no numbers
		s.till(2 * time.Minute)
		s.b.tell(5000, 0)
		s.till(2*time.Minute + 11*time.Second) // two answers
		resume := s.c.Pause("a rest")
		s.till(5 * time.Minute)
		assert.Equal(t, s.changes(), "")
		resume()
		s.till(5*time.Minute + 14*time.Second)
		assert.Equal(t, s.changes(), "")
		s.till(5*time.Minute + 15*time.Second)
		assert.Equal(t, s.changes(), "1→2")
	})
}

// Old messages scale up, however few there are.
func TestAgeScalesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScaling(t, 1, 9, wherry.ScaleBy(wherry.BacklogScaler{Oldest: time.Minute}))
		defer s.end()
		s.b.tell(3, 59*time.Second)
		s.till(5 * time.Minute)
		assert.Equal(t, s.changes(), "")
		s.b.tell(3, 61*time.Second)
		s.till(5*time.Minute + 15*time.Second)
		assert.Equal(t, s.changes(), "1→2")
		assert.Equal(t, s.c.Health().Scaled.Why, "3 ready, 1 worker for 100, the oldest for 1m1s")
		s.b.tell(3, 31*time.Second) // no longer too old, and not young enough
		s.till(10 * time.Minute)
		assert.Equal(t, s.changes(), "1→2")
		s.b.tell(3, 30*time.Second)
		s.till(11 * time.Minute)
		assert.Equal(t, s.changes(), "1→2 2→1")
	})
}

// All times can be set.
func TestScaleTimesAreSettable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScaling(t, 1, 9, wherry.ScaleEvery(time.Second), wherry.ScaleAfter(0), wherry.ScaleCooldown(3*time.Second),
			wherry.ScaleBy(wherry.BacklogScaler{Up: 1, Down: 0.1}))
		defer s.end()
		s.b.tell(101, 0)
		s.till(time.Second)
		assert.Equal(t, s.c.Health().Workers, 2)
		s.b.tell(900, 0)
		s.till(4*time.Second - 2*time.Millisecond)
		assert.Equal(t, s.c.Health().Workers, 2)
		s.till(4 * time.Second)
		assert.Equal(t, s.c.Health().Workers, 4)
		s.b.tell(40, 0)
		s.till(time.Minute)
		assert.Equal(t, s.c.Health().Workers, 4)
		s.b.tell(39, 0)
		s.till(time.Minute + time.Second)
		assert.Equal(t, s.c.Health().Workers, 3)
	})
}

// A strategy is told what it decides by, cannot leave the bounds, and may panic.
func TestStrategyIsPluggable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dial{}
		var ev events
		b := newTold(t)
		hold := make(chan struct{})
		c := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			<-hold
			return wherry.Ack()
		}, wherry.Prefetch(100), d.between(2, 5), wherry.OnEvent(ev.record), wherry.DrainTime(0))
		r := start(t, c)
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
		b.tell(7, time.Minute)
		d.want.Store(1000)
		time.Sleep(3 * dialEvery)
		assert.Equal(t, c.Health().Workers, 5)
		got := d.snapshot()
		want := wherry.ScaleSnapshot{
			Workers: 5, Least: 2, Most: 5, PerWorker: 100, Ready: 7, Oldest: time.Minute, InFlight: 3, Rate: got.Rate,
		}
		assert.Equal(t, got, want)
		assert.Equal(t, got.Capacity(), 500)
		d.want.Store(-1000)
		time.Sleep(3 * dialEvery)
		assert.Equal(t, d.snapshot().Workers, 2)
		close(hold)
		b.tell(0, 0)
		r.mustEnd()
	})
	synctest.Test(t, func(t *testing.T) {
		s := newScaling(t, 1, 9, wherry.ScaleBy(bad{}))
		defer s.end()
		s.b.tell(5000, 0)
		s.till(time.Minute)
		assert.Equal(t, s.changes(), "")
		es := eventsOf[*wherry.Panicked](&s.ev)
		assert.Equal(t, len(es), 12)
		assert.Equal(t, es[0].Value, any("no idea"))
	})
}

// bad is a strategy that does not know.
type bad struct{}

func (bad) Scale(wherry.ScaleSnapshot) int {
	panic("no idea") //nolint:forbidigo // It is what the test is about.
}
