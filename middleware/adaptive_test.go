package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// A dependency works on so many calls at once, each for a while; others wait for their turn.
type dependency struct {
	k       chan struct{}
	each    atomic.Int64
	failing atomic.Bool
	spread  float64 // how much one call is longer or shorter than another

	mu     sync.Mutex
	random *rand.Rand
}

func newDependency(k int, each time.Duration, seed uint64) *dependency {
	d := &dependency{k: make(chan struct{}, k), random: rand.New(rand.NewPCG(seed, 1))}
	d.each.Store(int64(each))
	return d
}

func (d *dependency) call(ctx context.Context) error {
	if d.failing.Load() {
		time.Sleep(time.Millisecond)
		return errors.New("no")
	}
	select {
	case d.k <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	d.mu.Lock()
	factor := 1 + d.spread*(2*d.random.Float64()-1)
	d.mu.Unlock()
	time.Sleep(time.Duration(float64(d.each.Load()) * factor))
	<-d.k
	return nil
}

// load keeps a consumer of the dependency at work until the test ends.
type load struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

func newLoad(t *testing.T, d *dependency, lanes int, opts ...wherry.ConsumeOption) *load {
	t.Helper()
	r := newRig(t)
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop}
	h := func(ctx context.Context, _ *wherry.Message[string]) wherry.Outcome {
		if err := d.call(ctx); err != nil {
			return wherry.Retry(err)
		}
		return wherry.Ack()
	}
	opts = append(opts, wherry.Concurrency(lanes), wherry.Prefetch(lanes), wherry.DrainTime(time.Second), wherry.GraceTime(time.Minute),
		wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}), wherry.NoDeadLetters())
	p, err := wherry.NewPublisher(ctx, r.broker, r.topic)
	assert.NoError(t, err)
	l.done.Go(func() {
		v := "work"
		for p.Publish(ctx, &v) == nil {
			continue
		}
	})
	l.done.Go(func() { _ = r.consume(h, opts...).Run(ctx) })
	return l
}

func (l *load) end() {
	l.stop()
	l.done.Wait()
}

// settled is what a limit should settle at for a dependency of k: limit - root of limit = tolerance × k.
func settled(k int, tolerance float64) float64 {
	root := (1 + math.Sqrt(1+4*tolerance*float64(k))) / 2
	return root * root
}

// observe looks at the limit ten times a second, but for when it is lowered to measure, and returns the mean and the ends.
func observe(a *middleware.AdaptiveLimit, d time.Duration) (mean float64, least, most int) {
	least = math.MaxInt
	sum, n := 0, 0
	for range int(d / (100 * time.Millisecond)) {
		time.Sleep(100 * time.Millisecond)
		s := a.State()
		if s.Measuring {
			continue
		}
		sum, n = sum+s.Limit, n+1
		least, most = min(least, s.Limit), max(most, s.Limit)
	}
	return float64(sum) / float64(max(n, 1)), least, most
}

// The limit settles between what the dependency works on at once and a tenth above what the formula says, from below and
// from above, whether calls take the same time or not.
func TestAdaptiveLimitSettles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k, initial int
		each       time.Duration
		spread     float64
	}{
		{5, 0, 100 * time.Millisecond, 0},
		{20, 0, 400 * time.Millisecond, 0},
		{20, 0, 400 * time.Millisecond, 0.9},
		{10, 60, 200 * time.Millisecond, 0},
		{10, 60, 200 * time.Millisecond, 0.9},
		{8, 0, time.Second, 0.5},
	} {
		t.Run(fmt.Sprintf("%d from %d of %v %v", c.k, c.initial, c.each, c.spread), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Initial: c.initial, Max: 64})
				d := newDependency(c.k, c.each, 1)
				d.spread = c.spread
				l := newLoad(t, d, 64, a.Option())
				defer l.end()
				time.Sleep(3 * time.Minute)
				mean, least, most := observe(a, 2*time.Minute)
				top := settled(c.k, 1.25)
				t.Logf("mean %.1f from %d to %d, formula %.1f, %v", mean, least, most, top, a.State())
				assert.True(t, mean >= float64(c.k) && mean <= 1.1*top,
					fmt.Sprintf("mean limit %.1f, want between %d and %.1f", mean, c.k, 1.1*top))
			})
		})
	}
}

// Where calls take no longer however many run, the limit grows to its bound; where too few come, it stays.
func TestAdaptiveLimitGrowsWhereItIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		used := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Max: 24})
		l := newLoad(t, newDependency(1000, 100*time.Millisecond, 1), 32, used.Option())
		defer l.end()
		unused := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Initial: 8, Max: 24})
		few := newLoad(t, newDependency(1000, 100*time.Millisecond, 1), 3, unused.Option())
		defer few.end()
		time.Sleep(30*time.Second + 50*time.Millisecond) // in the middle of calls, which all end at the same instants
		assert.Equal(t, used.Limit(), 24)
		assert.Equal(t, unused.Limit(), 8)
		assert.Equal(t, used.State().InFlight, 24)
		assert.Equal(t, used.State().Waiting, 8)
		assert.Equal(t, used.State().Unloaded, 100*time.Millisecond)
	})
}

// The limit falls when calls fail, to the least when all do, and comes back when they do no more.
func TestAdaptiveLimitBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes atomic.Int64
		a := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{
			Min: 2, Max: 32, OnChange: func(int, int) { changes.Add(1) },
		})
		d := newDependency(10, 200*time.Millisecond, 1)
		l := newLoad(t, d, 32, a.Option())
		defer l.end()
		time.Sleep(2 * time.Minute)
		before, _, _ := observe(a, 10*time.Second)
		assert.True(t, before > 10, fmt.Sprint(before))
		d.failing.Store(true)
		time.Sleep(5 * time.Second)
		assert.Equal(t, a.Limit(), 2)
		d.failing.Store(false)
		time.Sleep(2 * time.Minute)
		after, _, _ := observe(a, 30*time.Second)
		assert.True(t, after > 0.9*before && after < 1.1*before, fmt.Sprintf("%.1f before and %.1f after", before, after))
		assert.True(t, changes.Load() > 10, "nobody was told")
	})
}

// A few that fail change nothing, and calls that overrun their deadline are failures whatever they return.
func TestAdaptiveLimitTellsFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handle func(ctx context.Context, n int64) wherry.Outcome
		falls  bool
	}{
		"one in twenty fails": {func(_ context.Context, n int64) wherry.Outcome {
			time.Sleep(200 * time.Millisecond)
			if n%20 == 0 {
				return wherry.Retry(errBoom)
			}
			return wherry.Ack()
		}, false},
		"one in four fails": {func(_ context.Context, n int64) wherry.Outcome {
			time.Sleep(200 * time.Millisecond)
			if n%4 == 0 {
				return wherry.Retry(errBoom)
			}
			return wherry.Ack()
		}, true},
		"all are rejected": {func(context.Context, int64) wherry.Outcome {
			time.Sleep(200 * time.Millisecond)
			return wherry.Reject(errBoom)
		}, false},
		"all overrun": {func(ctx context.Context, _ int64) wherry.Outcome {
			<-ctx.Done()
			return wherry.Ack()
		}, true},
		"all panic": {func(context.Context, int64) wherry.Outcome {
			time.Sleep(200 * time.Millisecond)
			return crash(errBoom)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				a := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Initial: 8, Max: 16})
				var n atomic.Int64
				r.publish(numbers(1000)...)
				h := func(ctx context.Context, _ *wherry.Message[string]) wherry.Outcome { return c.handle(ctx, n.Add(1)) }
				go func() {
					time.Sleep(10 * time.Second)
					if got := a.Limit(); c.falls != (got < 8) || !c.falls && got != 16 {
						t.Errorf("the limit is %d, falls is %v", got, c.falls)
					}
				}()
				ctx, stop := context.WithTimeout(t.Context(), 11*time.Second)
				defer stop()
				_ = r.consume(h, a.Option(), wherry.Concurrency(16), wherry.HandlerTimeout(500*time.Millisecond),
					wherry.DrainTime(time.Second), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}), wherry.NoDeadLetters(),
				).Run(ctx)
			})
		})
	}
}

// A dependency that becomes slower for good is measured anew.
func TestAdaptiveLimitMeasuresAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Max: 32})
		d := newDependency(12, 100*time.Millisecond, 1)
		l := newLoad(t, d, 32, a.Option())
		defer l.end()
		time.Sleep(2 * time.Minute)
		before, _, _ := observe(a, 10*time.Second)
		d.each.Store(int64(300 * time.Millisecond))
		time.Sleep(10 * time.Second)
		fallen, _, _ := observe(a, 2*time.Second)
		assert.True(t, fallen < before/2, fmt.Sprintf("%.1f fell to %.1f", before, fallen))
		time.Sleep(5 * time.Minute)
		after, _, _ := observe(a, 30*time.Second)
		assert.True(t, after > 0.85*before && after < 1.15*before, fmt.Sprintf("%.1f before and %.1f after", before, after))
	})
}

// Handlers that never return, and are all that a measurement lets run, do not hold up the others for ever.
func TestAdaptiveLimitOutlivesStuckCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Initial: 8, Max: 8})
		stuck := make(chan struct{})
		var n atomic.Int64
		r.publish(numbers(9000)...)
		h := func(ctx context.Context, _ *wherry.Message[string]) wherry.Outcome {
			i := n.Add(1)
			if i > 500 && i <= 504 {
				<-stuck
				return wherry.Ack()
			}
			time.Sleep(100 * time.Millisecond)
			return wherry.Ack()
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- r.consume(h, a.Option(), wherry.Concurrency(8), wherry.DrainTime(time.Second)).Run(ctx)
		}()
		for time.Sleep(20 * time.Second); !a.State().Measuring; { // with four, which are stuck
			time.Sleep(10 * time.Second)
		}
		at := n.Load()
		time.Sleep(10 * time.Second)
		assert.Equal(t, n.Load(), at)
		time.Sleep(2 * time.Minute)
		assert.True(t, n.Load() > at+100, fmt.Sprintf("%d calls in two minutes", n.Load()-at))
		close(stuck)
		time.Sleep(time.Second)
		stop()
		<-done
	})
}

// A batch counts as one call.
func TestAdaptiveLimitOfBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Initial: 2, Max: 3})
		var inside crowd
		r.publish(numbers(900)...)
		h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			inside.enter()
			defer inside.leave()
			time.Sleep(100 * time.Millisecond)
			if inside.all.Load() < 10 {
				return wherry.Ack()
			}
			b.Set(b.Len()-1, wherry.Reject(errBoom))
			return wherry.Ack()
		}
		r.run(20*time.Second, r.consumeBatch(h, a.Option(), wherry.Workers(5), wherry.BatchSize(10)))
		assert.True(t, inside.all.Load() >= 90 && inside.all.Load() < 100, "a batch is not one call")
		assert.Equal(t, inside.most.Load(), 3)
	})
}

// What waits in vain is deferred or goes back, as with Limit, and its place in the queue is given up.
func TestAdaptiveLimitDefers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Max: 1})
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(fmt.Sprintf("%s attempt %d", m.Value, m.Attempt()))
			time.Sleep(5 * time.Second)
			return wherry.Ack()
		}
		r.publish("a")
		c := r.consume(h, a.Option(), wherry.Concurrency(3), wherry.HandlerTimeout(2*time.Second),
			wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}))
		go func() {
			time.Sleep(time.Second)
			assert.Equal(t, a.State().InFlight, 1)
			r.publish("b", "c")
			synctest.Wait()
			assert.Equal(t, a.State().Waiting, 2)
			time.Sleep(3500 * time.Millisecond)
			assert.Equal(t, a.State().Waiting, 2) // they came again
		}()
		r.run(30*time.Second, c)
		assert.Equal(t, len(r.log.take()), 3)
		assert.Equal(t, len(r.dead()), 0)
		assert.Equal(t, a.State().InFlight, 0)
		assert.Equal(t, a.State().Waiting, 0)
	})
}

func TestAdaptiveLimitMistakes(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]middleware.AdaptiveConfig{
		"adaptive limit: Min is -1, want at least 0":                                       {Min: -1},
		"adaptive limit: Max is 2, want at least Min, which is 3":                          {Min: 3, Max: 2},
		"adaptive limit: Initial is 9, want it between Min and Max, which are 1 and 8":     {Initial: 9, Max: 8},
		"adaptive limit: Tolerance is 0.5, want at least 1":                                {Tolerance: 0.5},
		"adaptive limit: Smoothing is 2, want more than 0 and up to 1":                     {Smoothing: 2},
		"adaptive limit db: Window is -1s, want more than 0":                               {Name: "db", Window: -time.Second},
		"adaptive limit: WindowCalls is -1, want at least 0":                               {WindowCalls: -1},
		"adaptive limit: ProbeEvery is -1s, want more than 0":                              {ProbeEvery: -time.Second},
		"adaptive limit: FailureRatio is 1, want more than 0 and less than 1":              {FailureRatio: 1},
		"adaptive limit: Tolerance is NaN, want at least 1":                                {Tolerance: math.NaN()},
		"adaptive limit: Initial is 1, want it between Min and Max, which are 300 and 300": {Min: 300, Initial: 1},
	} {
		wantStartError(t, middleware.NewAdaptiveLimit(c).Option(), want)
	}
	assert.NoError(t, startError(t, middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Min: 300}).Option()))
	wantStartError(t, (*middleware.AdaptiveLimit)(nil).Option(), "adaptive limit: it was not made by NewAdaptiveLimit")
	wantStartError(t, new(middleware.AdaptiveLimit).Option(), "adaptive limit: it was not made by NewAdaptiveLimit")
	assert.Equal(t, (*middleware.AdaptiveLimit)(nil).State(), middleware.AdaptiveState{})
}
