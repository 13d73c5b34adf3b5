package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A message whose handler used up its deadline is moved and settled all the same: the broker, which looks at the contexts
// it is given, is slow as well.
func TestFault3ExpiredDeadlineDoesNotReachTheMove(t *testing.T) {
	t.Parallel()
	outcomes := map[string]func(error) wherry.Outcome{
		"reject":    wherry.Reject,
		"exhausted": wherry.Retry,
		"retry":     func(err error) wherry.Outcome { return wherry.RetryAfter(time.Second, err) },
		"defer":     func(error) wherry.Outcome { return wherry.Defer(time.Second) },
		"ack":       func(error) wherry.Outcome { return wherry.Ack() },
	}
	for name, outcome := range outcomes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, handlerShapes, func(t *testing.T, s shape) {
				b := newMem(t)
				publish(t, b, s.topic, order{ID: 1})
				b.Faults().WithholdConfirms("")
				b.Faults().SlowSettle("", time.Second)
				time.AfterFunc(2*time.Second, func() { b.Faults().ReleaseConfirms("") })
				policy := wherry.RetryPolicy{MaxAttempts: 2}
				if name == "exhausted" {
					policy.MaxAttempts = 1
				}
				var seen calls
				var ev events
				r := start(t, s.runner(b, func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
					seen.add("attempt %d", m.Attempt())
					if len(seen.all()) > 1 {
						return wherry.Ack()
					}
					<-ctx.Done()
					return outcome(context.Cause(ctx))
				}, wherry.HandlerTimeout(10*time.Millisecond), wherry.RetryWith(policy), wherry.OnEvent(ev.record)))
				time.Sleep(time.Minute)
				r.mustEnd()
				b.Faults().Clear()
				want := map[string][]string{
					"reject": {"attempt 1"}, "exhausted": {"attempt 1"}, "ack": {"attempt 1"},
					"retry": {"attempt 1", "attempt 2"}, "defer": {"attempt 1", "attempt 1"},
				}
				assert.Equal(t, seen.all(), want[name])
				assert.Equal(t, s.left(t, b), 0)
				assert.Equal(t, len(eventsOf[*wherry.MoveBlocked](&ev))+len(eventsOf[*wherry.SettleFailed](&ev)), 0)
				dead := collectDead(t, b, s.dead())
				if name != "reject" && name != "exhausted" {
					assert.Equal(t, len(dead), 0)
					return
				}
				assert.Equal(t, len(dead), 1)
				assert.Equal(t, dead[0].Value.LastError, wherry.ErrHandlerTimeout.Error())
			})
		})
	}
}

// Each attempt has a deadline and a context of its own, and the delays between attempts are the policy's, whether events
// and policy functions look at them or not.
func TestFault17EachAttemptIsFresh(t *testing.T) {
	t.Parallel()
	const timeout = 20 * time.Millisecond
	delays := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}
	for name, looks := range map[string]bool{"unseen": false, "looked at": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, handlerShapes, func(t *testing.T, s shape) {
				b := newMem(t)
				publish(t, b, s.topic, order{ID: 1})
				policy := wherry.RetryPolicy{MaxAttempts: 4, Delays: delays, Jitter: wherry.NoJitter}
				var ev events
				opts := []wherry.ConsumerOption{wherry.HandlerTimeout(timeout)}
				if looks {
					policy.ForError = func(error) *wherry.RetryPolicy { return nil }
					opts = append(opts, wherry.OnEvent(ev.record), wherry.OnEvent(ev.record))
				}
				opts = append(opts, wherry.RetryWith(policy))
				var mu sync.Mutex
				var began, ended []time.Time
				r := start(t, s.runner(b, func(ctx context.Context, _ *wherry.Message[order]) wherry.Outcome {
					now := time.Now()
					assert.NoError(t, ctx.Err())
					deadline, ok := ctx.Deadline()
					left := deadline.Sub(now)
					assert.True(t, ok && left > timeout-2*time.Millisecond && left <= timeout, "left of the deadline: "+left.String())
					<-ctx.Done()
					assert.ErrorIs(t, context.Cause(ctx), wherry.ErrHandlerTimeout)
					mu.Lock()
					defer mu.Unlock()
					began, ended = append(began, now), append(ended, time.Now())
					return wherry.Retry(context.Cause(ctx))
				}, opts...))
				time.Sleep(time.Minute)
				r.mustEnd()
				assert.Equal(t, len(began), 4)
				for i, want := range delays {
					got := began[i+1].Sub(ended[i])
					assert.True(t, got >= want && got < want+5*time.Millisecond, fmt.Sprintf("delay %d is %v, want %v", i, got, want))
				}
				if looks {
					retried := eventsOf[*wherry.Retried](&ev)
					assert.Equal(t, len(retried), 2*len(delays))
					for i, e := range retried {
						assert.Equal(t, e.Delay, delays[i/2])
					}
				}
				assert.Equal(t, len(collectDead(t, b, s.dead())), 1)
			})
		})
	}
}

// atOnce counts the calls of each message, and finds two at a time.
type atOnce struct {
	mu      sync.Mutex // guards the fields below
	now     map[int]int
	calls   map[int]int
	overlap []int
}

func (a *atOnce) enter(id int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now == nil {
		a.now, a.calls = make(map[int]int), make(map[int]int)
	}
	a.now[id]++
	a.calls[id]++
	if a.now[id] > 1 {
		a.overlap = append(a.overlap, id)
	}
}

func (a *atOnce) leave(id int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now[id]--
}

// A message whose handler overran its timeout is not handled again before that handler returned. What it then returns
// counts, and the watchdog names it with its stack meanwhile.
func TestFault28NoSecondCallBesideALateOne(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]mem.Config{"no lease": {}, "lease": {Lease: 200 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, handlerShapes, func(t *testing.T, s shape) {
				b := mem.New(cfg)
				defer b.Close(context.Background())
				const n = 6
				publishMany(t, b, s.topic, n)
				var at atOnce
				var ev events
				r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
					at.enter(m.Value.ID)
					time.Sleep(time.Second) // whatever its context says
					at.leave(m.Value.ID)
					switch m.Value.ID {
					case 0:
						return wherry.Retry(errors.New("always"))
					case 1:
						return wherry.Reject(errors.New("no"))
					default:
						return wherry.Ack()
					}
				}, wherry.HandlerTimeout(50*time.Millisecond), wherry.OnEvent(ev.record),
					wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{10 * time.Millisecond}})))
				time.Sleep(time.Minute)
				r.mustEnd()
				assert.Equal(t, len(at.overlap), 0)
				assert.Equal(t, at.calls, map[int]int{0: 3, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1})
				assert.Equal(t, s.left(t, b), 0)
				attempts := 0
				for _, one := range collectDead(t, b, s.dead()) {
					attempts += one.Value.Attempts
				}
				assert.Equal(t, attempts, 3+1)
				late := eventsOf[*wherry.Overran](&ev)
				assert.True(t, len(late) >= 3, fmt.Sprintf("%d overruns were reported", len(late)))
				for _, e := range late {
					assert.True(t, e.ID != "" && strings.Contains(e.Stack, "TestFault28"), "an overrun names message and stack")
				}
			})
		})
	}
}

// While a handler overruns, the message is not at another consumer either: its lease is extended for as long as it runs.
func TestFault28NoSecondCallElsewhere(t *testing.T) {
	t.Parallel()
	inEach(t, handlerShapes, func(t *testing.T, s shape) {
		b := mem.New(mem.Config{Lease: 200 * time.Millisecond})
		defer b.Close(context.Background())
		publishMany(t, b, s.topic, 3)
		var at atOnce
		h := func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			at.enter(m.Value.ID)
			defer at.leave(m.Value.ID)
			time.Sleep(time.Second)
			return wherry.Ack()
		}
		timeout := wherry.HandlerTimeout(50 * time.Millisecond)
		r := start(t, s.runner(b, h, timeout), s.runner(b, h, timeout), s.runner(b, h, timeout))
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, len(at.overlap), 0)
		assert.Equal(t, at.calls, map[int]int{0: 1, 1: 1, 2: 1})
		assert.Equal(t, s.left(t, b), 0)
	})
}

// Nor while it uses its grace at the end: what is in hand is extended until it is settled.
func TestFault28NoSecondCallBesideTheGrace(t *testing.T) {
	t.Parallel()
	inEach(t, handlerShapes, func(t *testing.T, s shape) {
		b := mem.New(mem.Config{Lease: 200 * time.Millisecond})
		defer b.Close(context.Background())
		publish(t, b, s.topic, order{ID: 1})
		var seen calls
		h := func(ctx context.Context, _ *wherry.Message[order]) wherry.Outcome {
			seen.add("called")
			<-ctx.Done()
			time.Sleep(900 * time.Millisecond)
			return wherry.Reject(context.Cause(ctx))
		}
		r := start(t, s.runner(b, h, wherry.DrainTime(time.Second), wherry.GraceTime(time.Second)))
		time.Sleep(time.Second)
		other := start(t, s.runner(b, h))
		r.mustEnd()
		time.Sleep(time.Second)
		assert.Equal(t, seen.all(), []string{"called"})
		other.mustEnd()
		assert.Equal(t, len(collectDead(t, b, s.dead())), 1)
	})
}
