package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// brokers are the in-process broker in its strengths and weaknesses.
var brokers = map[string]mem.Config{
	"good":                   {},
	"no delay":               {Weak: mem.Weak{NoHold: true}},
	"no count":               {Weak: mem.Weak{NoCount: true}},
	"counts releases":        {Weak: mem.Weak{CountReleases: true}},
	"requeues behind":        {Weak: mem.Weak{RequeueBehindNew: true}},
	"reuses tags":            {Weak: mem.Weak{ReuseTags: true}},
	"takes late settlements": {Weak: mem.Weak{AcceptLateSettlements: true}},
	"drops what it has seen": {Weak: mem.Weak{Dedup: time.Hour}},
	"leases":                 {Lease: 100 * time.Millisecond},
}

// inEachBroker runs a test in each shape on each broker.
func inEachBroker(t *testing.T, shapes []shape, test func(t *testing.T, s shape, b *mem.Broker)) {
	t.Helper()
	for name, cfg := range brokers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, shapes, func(t *testing.T, s shape) {
				b := mem.New(cfg)
				defer b.Close(context.Background())
				test(t, s, b)
			})
		})
	}
}

// emulated is how much longer than asked a delay may be where the broker cannot delay.
func emulated(d time.Duration) time.Duration { return d + d/2 + 200*time.Millisecond }

// The attempt limit is a number of handler calls and the delays are those that were asked for, on every broker.
func TestFault8AttemptsAndDelaysMeanTheSameEverywhere(t *testing.T) {
	t.Parallel()
	delays := []time.Duration{200 * time.Millisecond, 500 * time.Millisecond}
	inEachBroker(t, allShapes, func(t *testing.T, s shape, b *mem.Broker) {
		publish(t, b, s.topic, order{ID: 1})
		var mu sync.Mutex
		var at []time.Time
		var seen calls
		r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
			seen.add("attempt %d", m.Attempt())
			return wherry.Retry(fmt.Errorf("failure %d", m.Attempt()))
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, Delays: delays, Jitter: wherry.NoJitter})))
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"attempt 1", "attempt 2", "attempt 3"})
		for i, want := range delays {
			got := at[i+1].Sub(at[i])
			assert.True(t, got >= want && got < emulated(want), fmt.Sprintf("delay %d is %v, want %v", i, got, want))
		}
		assert.Equal(t, s.left(t, b), 0)
		dead := collectDead(t, b, s.dead())
		assert.Equal(t, len(dead), 1)
		d := dead[0].Value
		assert.Equal(t, fmt.Sprint(d.Value.ID, d.Reason, d.Attempts, d.FirstError, d.LastError, d.Group),
			fmt.Sprint(1, wherry.ReasonExhausted, 3, "failure 1", "failure 3", s.group))
	})
}

// A message that fails for ever, by whatever outcome, is called at most three times in its first second, and then by the
// ladder until it is given up. Those beside it are handled meanwhile.
func TestFault13FailingMessageDoesNotSpin(t *testing.T) {
	t.Parallel()
	failures := map[string]func() wherry.Outcome{
		"retry":        func() wherry.Outcome { return wherry.Retry(errors.New("always")) },
		"no outcome":   func() wherry.Outcome { return wherry.Outcome{} },
		"panic":        func() wherry.Outcome { panic("always") },
		"a func's":     func() wherry.Outcome { return wherry.Retry(context.DeadlineExceeded) },
		"wrapped text": func() wherry.Outcome { return wherry.Retry(errors.New(strings.Repeat("long ", 1000))) },
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, cfg := range map[string]mem.Config{"good": {}, "no delay": brokers["no delay"]} {
				t.Run(how, func(t *testing.T) {
					t.Parallel()
					shapes := handlerShapes
					if name == "panic" { // of a batch it is the batch's
						shapes = slices.DeleteFunc(slices.Clone(shapes), func(s shape) bool { return strings.HasPrefix(s.name, "batch") })
					}
					inEach(t, shapes, func(t *testing.T, s shape) {
						b := mem.New(cfg)
						defer b.Close(context.Background())
						began := time.Now()
						var mu sync.Mutex
						var failed []time.Duration
						good := 0
						r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
							mu.Lock()
							defer mu.Unlock()
							if m.Value.ID != 0 {
								good++
								return wherry.Ack()
							}
							failed = append(failed, time.Since(began))
							return fail()
						}))
						publishMany(t, b, s.topic, 100)
						time.Sleep(time.Millisecond)
						mu.Lock()
						assert.Equal(t, good, 99)
						mu.Unlock()
						time.Sleep(5 * time.Minute)
						r.mustEnd()
						first := 0
						for _, at := range failed {
							if at < time.Second {
								first++
							}
						}
						assert.True(t, first <= 3, fmt.Sprintf("%d calls in the first second", first))
						assert.Equal(t, len(failed), 5)
						ladder := []time.Duration{200 * time.Millisecond, 800 * time.Millisecond, 3200 * time.Millisecond, 12800 * time.Millisecond}
						for i, want := range ladder {
							got := failed[i+1] - failed[i]
							assert.True(t, got >= want && got < emulated(want), fmt.Sprintf("delay %d is %v, want %v", i, got, want))
						}
						assert.Equal(t, len(collectDead(t, b, s.dead())), 1)
					})
				})
			}
		})
	}
}

// A message that is never ready goes round with a pause, however short its defers, and has an end.
func TestFault13DeferredMessageDoesNotSpin(t *testing.T) {
	t.Parallel()
	inEach(t, allShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		publish(t, b, s.topic, order{ID: 1})
		var seen calls
		r := start(t, s.runner(b, func(context.Context, *wherry.Message[order]) wherry.Outcome {
			seen.add("call")
			return wherry.Defer(0)
		}))
		time.Sleep(time.Second - time.Millisecond)
		assert.Equal(t, len(seen.all()), 10)
		_ = r.end() // after the drain time, since the message is never ready
	})
}

// Nor is one called without a pause that fails for ever while its copies are refused.
func TestFault13RefusedCopyDoesNotSpin(t *testing.T) {
	t.Parallel()
	inEach(t, allShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		publish(t, b, s.topic, order{ID: 1})
		var seen calls
		var ev events
		r := start(t, s.runner(b, func(context.Context, *wherry.Message[order]) wherry.Outcome {
			if seen.add("call"); len(seen.all()) == 1 {
				b.Faults().FailSend("", -1, nil)
			}
			return wherry.Retry(errors.New("always"))
		}, wherry.OnEvent(ev.record)))
		time.Sleep(time.Second)
		assert.True(t, len(seen.all()) <= 3, fmt.Sprintf("%d calls in the first second", len(seen.all())))
		tries := len(eventsOf[*wherry.MoveBlocked](&ev))
		assert.True(t, tries >= 1 && tries <= 4, fmt.Sprintf("%d tries in the first second", tries))
		b.Faults().Clear()
		time.Sleep(5 * time.Minute)
		r.mustEnd()
		assert.Equal(t, len(seen.all()), 5)
		assert.Equal(t, len(collectDead(t, b, s.dead())), 1)
	})
}

// The order of options decides nothing: each permutation of the policies that go together is the same consumer.
func TestFault18OrderOfOptionsDecidesNothing(t *testing.T) {
	t.Parallel()
	inEach(t, allShapes, func(t *testing.T, s shape) {
		opts := []wherry.ConsumerOption{
			wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2}), wherry.DeadLetterTo("failed"), wherry.StallAfter(time.Minute),
		}
		for _, turn := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			b := newMem(t)
			publish(t, b, s.topic, order{ID: 1})
			var seen calls
			r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
				seen.add("attempt %d", m.Attempt())
				return wherry.Retry(errors.New("always"))
			}, opts[turn[0]], opts[turn[1]], opts[turn[2]]))
			time.Sleep(time.Minute)
			r.mustEnd()
			assert.Equal(t, seen.all(), []string{"attempt 1", "attempt 2"})
			assert.Equal(t, depthOf(t, b, "failed"), 1)
			assert.Equal(t, s.left(t, b), 0)
		}
	})
}

// A consumer's policy replaces its topic's, as a whole.
func TestFault18ConsumersPolicyReplacesTheTopics(t *testing.T) {
	t.Parallel()
	topic := wherry.NewTopic("orders", jsonOrders{}, wherry.NoDeadLetters(),
		wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 9, Delays: []time.Duration{time.Hour}}))
	s := handlerShapes[0]
	s.topic = topic
	inEach(t, []shape{s}, func(t *testing.T, s shape) {
		b := newMem(t)
		publish(t, b, s.topic, order{ID: 1})
		var seen calls
		r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("attempt %d", m.Attempt())
			return wherry.Retry(errors.New("always"))
		}, wherry.DeadLetterTo("failed"), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2})))
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"attempt 1", "attempt 2"})
		assert.Equal(t, depthOf(t, b, "failed"), 1)
	})
}

// Policies that contradict each other are an error at start, in any order and wherever they were given together.
func TestFault18ConflictIsAnErrorAtStart(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]wherry.ConsumerOption{
		"two retry policies": {
			wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 9}),
		},
		"two dead-letter topics":                   {wherry.DeadLetterTo("here"), wherry.DeadLetterTo("there")},
		"both NoDeadLetters and DeadLetterTo":      {wherry.DeadLetterTo("here"), wherry.NoDeadLetters()},
		"both HandlerTimeout and NoHandlerTimeout": {wherry.HandlerTimeout(time.Second), wherry.NoHandlerTimeout()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, allShapes, func(t *testing.T, s shape) {
				b := newMem(t)
				publish(t, b, s.topic, order{ID: 1})
				h := func(context.Context, *wherry.Message[order]) wherry.Outcome {
					t.Error("a handler was called")
					return wherry.Ack()
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				for _, ps := range [][2]wherry.ConsumerOption{pair, {pair[1], pair[0]}} {
					err := wherry.Run(ctx, s.runner(b, h, ps[0], ps[1]))
					assert.True(t, err != nil && strings.Contains(err.Error(), name), fmt.Sprintf("%v names %q", err, name))
					first, ok := ps[0].(wherry.TopicOption)
					second, both := ps[1].(wherry.TopicOption)
					if !ok || !both {
						continue // a consumer's only
					}
					_, err = wherry.NewPublisher(ctx, b, wherry.NewTopic("both", jsonOrders{}, first, second))
					assert.True(t, err != nil && strings.Contains(err.Error(), name), fmt.Sprintf("%v names %q", err, name))
				}
			})
		})
	}
}
