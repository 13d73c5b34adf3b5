package wherry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// runnerFunc is a Runner that is no consumer.
type runnerFunc func(ctx context.Context) error

func (f runnerFunc) Run(ctx context.Context) error { return f(ctx) }

// openerFunc is one that prepares itself.
type openerFunc func(ctx context.Context) error

func (f openerFunc) Run(ctx context.Context) error { return wherry.Run(ctx, f) }

func (f openerFunc) Prepare(context.Context) (start func(context.Context) error, err error) {
	return f, nil
}

// A shell is a consumer in a type of the user's.
type shell struct{ *wherry.Consumer }

// inHand is a runner with a request in hand when its context ends, which it publishes after d.
func inHand(t *testing.T, b driver.Broker, d time.Duration) func(ctx context.Context) error {
	t.Helper()
	p, err := wherry.NewPublisher(t.Context(), b, orders)
	assert.NoError(t, err)
	return func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(d)
		return p.Publish(context.WithoutCancel(ctx), &order{ID: 1})
	}
}

func counting(seen *calls) wherry.Handler[order] {
	return func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
		seen.add("%d", m.Value.ID)
		return wherry.Ack()
	}
}

// What a runner that is no consumer publishes before it returns is handled, in whichever way it is run beside consumers.
func TestRunnersThatPublishAreWaitedFor(t *testing.T) {
	t.Parallel()
	type runners func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner
	for name, these := range map[string]runners{
		"runner": func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner {
			return []wherry.Runner{c, runnerFunc(late)}
		},
		"preparer": func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner {
			return []wherry.Runner{c, openerFunc(late)}
		},
		"joined": func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner {
			return []wherry.Runner{c, wherry.Join(runnerFunc(late))}
		},
		"all joined": func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner {
			return []wherry.Runner{wherry.Join(c, runnerFunc(late))}
		},
		"beside a router": func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner {
			return []wherry.Runner{wherry.NewRouter("", wherry.Mount(c)), runnerFunc(late)}
		},
		"beside a shell": func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner {
			return []wherry.Runner{shell{c}, runnerFunc(late)}
		},
		"run by a runner": func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner {
			return []wherry.Runner{runnerFunc(func(ctx context.Context) error { return wherry.Run(ctx, c, runnerFunc(late)) })}
		},
		"beside a runner that runs": func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner {
			return []wherry.Runner{runnerFunc(c.Run), runnerFunc(late)}
		},
		"after its consumers": func(c *wherry.Consumer, late func(context.Context) error) []wherry.Runner {
			other := wherry.Consume(wherry.Queue(mem.New(mem.Config{}), orders), done)
			return []wherry.Runner{c, runnerFunc(func(ctx context.Context) error { return errors.Join(wherry.Run(ctx, other), late(ctx)) })}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				var seen calls
				c := wherry.Consume(wherry.Queue(b, orders), counting(&seen))
				r := start(t, these(c, inHand(t, b, time.Second))...)
				time.Sleep(time.Second)
				began := time.Now()
				r.mustEnd()
				assert.Equal(t, seen.all(), []string{"1"})
				took := time.Since(began)
				assert.True(t, took >= time.Second && took < 1100*time.Millisecond, "the stop took "+took.String())
			})
		})
	}
}

// Consumers in a runner of the user's wait for each other and for no longer: nobody waits for who waits for him.
func TestRunnersWithConsumersDoNotWaitInACircle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		other := wherry.NewTopic("other", jsonOrders{})
		inside := func(top wherry.Topic[order]) wherry.Runner {
			c := wherry.Consume(wherry.Queue(b, top), done)
			return runnerFunc(func(ctx context.Context) error { return wherry.Run(ctx, c) })
		}
		r := start(t, inside(orders), inside(other), shell{wherry.Consume(wherry.Queue(b, orders), done)},
			wherry.Consume(wherry.Queue(b, other), done))
		time.Sleep(time.Second)
		began := time.Now()
		r.mustEnd()
		assert.True(t, time.Since(began) < 100*time.Millisecond, "the stop took "+time.Since(began).String())
	})
}

// A runner that does not return holds the consumers up for their drain time, and what it publishes when they have gone is in
// the result.
func TestWhatIsPublishedTooLateIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		var ev events
		c := wherry.Consume(wherry.Queue(b, orders), counting(&seen), wherry.DrainTime(3*time.Second), wherry.OnEvent(ev.record))
		second := wherry.Consume(wherry.Queue(b, orders), counting(&seen), wherry.DrainTime(3*time.Second), wherry.Name("second"))
		r := start(t, c, second, runnerFunc(inHand(t, b, 40*time.Second)))
		time.Sleep(time.Second)
		began := time.Now()
		err := r.end()
		assert.Equal(t, time.Since(began), 40*time.Second)
		left, ok := errors.AsType[*wherry.AbandonedError](err)
		if !ok {
			t.Fatalf("Run returned %v", err)
		}
		assert.Equal(t, *left, wherry.AbandonedError{Left: 1, Topics: []string{"orders"}})
		assert.Equal(t, err.Error(), "wherry: run: stopped with 1 message left in orders")
		assert.Equal(t, len(seen.all()), 0)
		assert.NoError(t, eventsOf[*wherry.Stopped](&ev)[0].Err) // nothing was left when it stopped
	})
}

// What a paused consumer left is told once, not again by the last look.
func TestWhatWasToldIsNotToldAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1}, order{ID: 2})
		one := wherry.Consume(wherry.Queue(b, orders), done)
		two := wherry.Consume(wherry.Queue(b, orders), done, wherry.Name("two"))
		one.Pause("on purpose")
		two.Pause("on purpose")
		r := start(t, one, two, runnerFunc(inHand(t, b, time.Second)))
		synctest.Wait()
		left, ok := errors.AsType[*wherry.AbandonedError](r.end())
		assert.True(t, ok, "what is left is an error")
		assert.Equal(t, left.Left, 3)
	})
}

// Retries that wait in the hold topics of a broker that cannot delay are waited for, and counted where the time is too short.
func TestStopEmptiesTheHoldTopics(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		drain time.Duration
		calls int
		left  []string // topics
	}{
		"a short one":    {after: 200 * time.Millisecond, drain: 30 * time.Second, calls: 2},
		"through two":    {after: 6 * time.Second, drain: 30 * time.Second, calls: 2},
		"a longer drain": {after: time.Minute, drain: 10 * time.Second, calls: 1, left: []string{"orders.hold.30s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newWeakMem(t)
				publish(t, b, orders, order{ID: 1})
				var seen calls
				r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
					seen.add("attempt %d", m.Attempt())
					if m.Attempt() == 1 {
						return wherry.RetryAfter(c.after, errors.New("once more"))
					}
					return wherry.Ack()
				}, wherry.DrainTime(c.drain)))
				time.Sleep(100 * time.Millisecond)
				err := r.end()
				assert.Equal(t, len(seen.all()), c.calls)
				if c.left == nil {
					assert.NoError(t, err)
					return
				}
				left, ok := errors.AsType[*wherry.AbandonedError](err)
				if !ok {
					t.Fatalf("Run returned %v", err)
				}
				assert.Equal(t, *left, wherry.AbandonedError{Left: 1, Topics: c.left})
			})
		})
	}
}

// One that is stopped alone is waited for by the others while its handler works, since that may publish to them.
func TestStopWaitsForWhoIsStoppedAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		other := wherry.NewTopic("other", jsonOrders{})
		p, err := wherry.NewPublisher(t.Context(), b, other)
		assert.NoError(t, err)
		publish(t, b, orders, order{ID: 1}, order{ID: 2})
		var seen calls
		router := wherry.NewRouter("", wherry.Mount(
			wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
				time.Sleep(5 * time.Second)
				if err := p.Publish(ctx, &m.Value); err != nil {
					return wherry.Retry(err)
				}
				return wherry.Ack()
			}),
			wherry.Consume(wherry.Queue(b, other), counting(&seen))))
		r := start(t, router)
		time.Sleep(time.Second)
		go func() { assert.NoError(t, router.Stop(context.Background(), "orders")) }()
		time.Sleep(time.Second)
		began := time.Now()
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"1"})
		assert.True(t, time.Since(began) < 3100*time.Millisecond, "the stop took "+time.Since(began).String())
	})
}

// What waits for longer than the drain time is asked for some hundred times, not every two milliseconds.
func TestStopAsksLessAndLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &doubtful{Broker: newMem(t)}
		publishIn(t, b, time.Hour)
		r := start(t, wherry.Consume(wherry.Queue(b, orders), done))
		synctest.Wait()
		asked := 0
		b.set(func(d driver.Depth) (driver.Depth, error) {
			asked++ // under the lock
			return d, nil
		})
		left, ok := errors.AsType[*wherry.AbandonedError](r.end())
		assert.True(t, ok && left.Left == 1, "what is left is told")
		b.set(nil)
		assert.True(t, asked > 300 && asked < 800, "asked "+time.Duration(asked).String()+" times")
	})
}

// A run that failed says what it left undone as well.
func TestAFailedRunSaysWhatItAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
		release := make(chan struct{})
		defer close(release)
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			<-release
			return wherry.Ack()
		}, wherry.Concurrency(4), wherry.DrainTime(time.Second)))
		synctest.Wait()
		assert.NoError(t, b.Close(context.Background()))
		<-r.done
		assert.ErrorIs(t, r.err, wherry.ErrClosed)
		left, ok := errors.AsType[*wherry.AbandonedError](r.err)
		if !ok {
			t.Fatalf("Run returned %v", r.err)
		}
		assert.Equal(t, *left, wherry.AbandonedError{Handlers: 3})
	})
}

// What several left undone is found as one sum, and the text names each.
func TestRunSumsWhatWasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		other := wherry.NewTopic("other", jsonOrders{})
		publish(t, b, orders, order{ID: 1}, order{ID: 2})
		publish(t, b, other, order{ID: 3}, order{ID: 4}, order{ID: 5})
		release := make(chan struct{})
		defer close(release)
		stuck := func(context.Context, *wherry.Message[order]) wherry.Outcome {
			<-release
			return wherry.Ack()
		}
		r := start(t, wherry.Consume(wherry.Queue(b, orders), stuck, wherry.DrainTime(time.Second)),
			wherry.NewRouter("x", wherry.Mount(wherry.Consume(wherry.Queue(b, other), stuck, wherry.DrainTime(time.Second)))))
		synctest.Wait()
		err := r.end()
		left, ok := errors.AsType[*wherry.AbandonedError](err)
		if !ok {
			t.Fatalf("Run returned %v", err)
		}
		assert.Equal(t, *left, wherry.AbandonedError{Handlers: 2, Left: 3, Topics: []string{"orders", "other"}})
		assert.Equal(t, err.Error(), "wherry: consume orders: stopped with 1 handler still running and 1 message left in orders\n"+
			"wherry: consume x/other: stopped with 1 handler still running and 2 messages left in other")
	})
}

// A driver that panics while a second consumer opens leaves the first as it was.
func TestAPanicWhileOpeningClosesWhatWasOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		c := wherry.Consume(wherry.Queue(b, orders), counting(&seen))
		func() {
			defer func() { assert.Equal(t, recover(), any("no driver at all")) }()
			_ = wherry.Run(t.Context(), c, wherry.Consume(wherry.Queue(panicking{b}, orders), done))
		}()
		publish(t, b, orders, order{ID: 1})
		r := start(t, c)
		synctest.Wait()
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"1"})
	})
}

// panicking is a broker that cannot even be opened.
type panicking struct{ driver.Queuer }

func (panicking) OpenQueue(context.Context, driver.Source) (driver.Receiver, error) {
	panic("no driver at all")
}
