package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// What a handler does in the drain is done, whatever shape it has: it publishes, and its outcome counts.
func TestFault2WorkInTheDrainIsDone(t *testing.T) {
	t.Parallel()
	inEach(t, handlerShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		out := wherry.NewTopic("out", jsonOrders{})
		p, err := wherry.NewPublisher(t.Context(), b, out)
		assert.NoError(t, err)
		publish(t, b, s.topic, order{ID: 1}, order{ID: 2}, order{ID: 3})
		var ev events
		r := start(t, s.runner(b, func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
				return wherry.Retry(context.Cause(ctx))
			}
			if err := p.Publish(ctx, &m.Value); err != nil {
				return wherry.Retry(err)
			}
			switch {
			case m.Value.ID == 2:
				return wherry.Reject(errors.New("no"))
			case m.Value.ID == 3 && m.Attempt() == 1:
				return wherry.RetryAfter(100*time.Millisecond, errors.New("once more"))
			}
			return wherry.Ack()
		}, wherry.DrainTime(3*time.Second), wherry.OnEvent(ev.record)))
		time.Sleep(50 * time.Millisecond)
		r.mustEnd()
		wantOut, wantLeft := 4, 0 // each once, and the third again
		if s.remote {
			wantOut, wantLeft = 3, 1 // the third waits for its next attempt there
		}
		assert.Equal(t, depthOf(t, b, "out"), wantOut)
		assert.Equal(t, s.left(t, b), wantLeft)
		assert.Equal(t, len(collectDead(t, b, s.dead())), 1)
		assert.Equal(t, len(eventsOf[*wherry.SettleFailed](&ev)), 0)
	})
}

// A handler that returns in its grace has its copy sent and its message settled, though its context has ended.
func TestFault2GraceIsEnoughToMoveAndSettle(t *testing.T) {
	t.Parallel()
	inEach(t, handlerShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		publish(t, b, s.topic, order{ID: 1})
		r := start(t, s.runner(b, func(ctx context.Context, _ *wherry.Message[order]) wherry.Outcome {
			<-ctx.Done()
			time.Sleep(900 * time.Millisecond)
			return wherry.Reject(context.Cause(ctx))
		}, wherry.DrainTime(time.Second), wherry.GraceTime(time.Second)))
		time.Sleep(10 * time.Millisecond)
		b.Faults().SlowSettle("", 50*time.Millisecond)
		began := time.Now()
		r.mustEnd()
		assert.Equal(t, time.Since(began), 1950*time.Millisecond)
		b.Faults().Clear()
		assert.Equal(t, s.left(t, b), 0)
		dead := collectDead(t, b, s.dead())
		assert.Equal(t, len(dead), 1)
		assert.Equal(t, dead[0].Value.LastError, wherry.ErrDraining.Error())
	})
}

// Run, or the loop, returns after its handlers, and after the broker has their answers.
func TestFault11RunReturnsAfterTheAnswerArrived(t *testing.T) {
	t.Parallel()
	inEach(t, allShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		publish(t, b, s.topic, order{ID: 1})
		b.Faults().SlowSettle(s.topic.Name(), 200*time.Millisecond)
		r := start(t, s.runner(b, func(context.Context, *wherry.Message[order]) wherry.Outcome {
			time.Sleep(3 * time.Second)
			return wherry.Ack()
		}))
		time.Sleep(time.Second)
		began := time.Now()
		r.mustEnd()
		took := time.Since(began)
		assert.True(t, took >= 2200*time.Millisecond && took <= 2210*time.Millisecond, "Run returned after "+took.String())
		b.Faults().Clear()
		assert.Equal(t, s.left(t, b), 0)
	})
}

// Past drain and grace, Run says how many handlers it left and how many messages are still in the broker; each comes
// again with the count it had.
func TestFault11EverythingLeftIsCounted(t *testing.T) {
	t.Parallel()
	want := map[string]wherry.AbandonedError{
		"queue": {Handlers: 1, Left: 5}, "group": {Handlers: 1, Left: 5}, "queue, many workers": {Handlers: 3, Left: 3},
		"queue, many lanes": {Handlers: 4, Left: 2}, "group, many lanes": {Handlers: 4, Left: 2},
		"queue elsewhere": {Handlers: 4},                                                                      // what it did not begin is safe there
		"batch":           {Handlers: 1}, "batch in a group": {Handlers: 1}, "batch elsewhere": {Handlers: 1}, // all of it is in hand
	}
	inEach(t, handlerShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		release := make(chan struct{})
		var seen calls
		h := func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("attempt %d", m.Attempt())
			<-release // whatever its context says
			return wherry.Ack()
		}
		publish(t, b, s.topic, order{ID: 1}, order{ID: 2}, order{ID: 3}, order{ID: 4}, order{ID: 5}, order{ID: 6})
		r := start(t, s.runner(b, h, wherry.DrainTime(time.Second), wherry.GraceTime(time.Second)))
		time.Sleep(time.Second)
		began := time.Now()
		err := r.end()
		assert.Equal(t, time.Since(began), 2*time.Second)
		left, ok := errors.AsType[*wherry.AbandonedError](err)
		assert.True(t, ok, fmt.Sprintf("%v is an AbandonedError", err))
		w := want[s.name]
		if w.Left > 0 {
			w.Topics = []string{s.topic.Name()}
		}
		assert.Equal(t, *left, w)
		assert.Equal(t, s.left(t, b), 6)
		close(release)
		synctest.Wait()
		assert.Equal(t, s.left(t, b), 6) // what comes after the end settles nothing
		next := start(t, s.runner(b, h))
		synctest.Wait()
		next.mustEnd()
		for _, one := range seen.all() {
			assert.Equal(t, one, "attempt 1")
		}
	})
}

// stops are the ways in which a message loses its handler without having failed.
var stops = []struct {
	name string
	// stop makes it happen while the handler waits for the end of its context, and returns the run that goes on.
	stop func(t *testing.T, s shape, b *mem.Broker, r *run, again func() *run) *run
}{
	{"drain", func(t *testing.T, _ shape, _ *mem.Broker, r *run, again func() *run) *run {
		_ = r.end() // it tells of the message that it left
		return again()
	}},
	{"revoked", func(_ *testing.T, s shape, b *mem.Broker, r *run, _ func() *run) *run {
		b.Faults().Revoke(s.topic.Name(), 0)
		return r
	}},
	{"revoked with a limit", func(_ *testing.T, s shape, b *mem.Broker, r *run, _ func() *run) *run {
		b.Faults().Revoke(s.topic.Name(), time.Second)
		return r
	}},
	{"connection lost", func(_ *testing.T, _ shape, b *mem.Broker, r *run, _ func() *run) *run {
		b.Faults().Disconnect(mem.HardCut)
		time.Sleep(time.Second)
		b.Faults().Reconnect()
		return r
	}},
}

// Neither a stop nor a revocation nor a lost connection is an attempt: with one attempt in all, the message runs again. A
// real error then is one.
func TestFault12OnlyFailuresAreAttempts(t *testing.T) {
	t.Parallel()
	for _, how := range stops {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			inEach(t, handlerShapes, func(t *testing.T, s shape) {
				b := newMem(t)
				publish(t, b, s.topic, order{ID: 1})
				var seen calls
				again := func() *run {
					return start(t, s.runner(b, func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
						seen.add("attempt %d", m.Attempt())
						if len(seen.all()) == 1 {
							<-ctx.Done()
							return wherry.Retry(context.Cause(ctx))
						}
						return wherry.Retry(errors.New("a real error"))
					}, wherry.DrainTime(time.Second), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})))
				}
				r := again()
				time.Sleep(10 * time.Millisecond)
				r = how.stop(t, s, b, r, again)
				time.Sleep(10 * time.Second)
				r.mustEnd()
				assert.Equal(t, seen.all(), []string{"attempt 1", "attempt 1"})
				assert.Equal(t, s.left(t, b), 0)
				dead := collectDead(t, b, s.dead())
				assert.Equal(t, len(dead), 1)
				assert.Equal(t, dead[0].Value.Attempts, 1)
				assert.Equal(t, dead[0].Value.LastError, "a real error")
			})
		})
	}
}

// A loop has no drain: a failure that it reports after its context ended is the end's, and no attempt.
func TestFault12LoopThatWasStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1})
		policy := wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		for m, err := range wherry.Pull(ctx, wherry.Queue(b, orders), policy) {
			assert.NoError(t, err)
			<-ctx.Done()
			m.Settle(wherry.Retry(ctx.Err()))
		}
		assert.Equal(t, depthOf(t, b, "orders"), 1)
		soon, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		for m, err := range wherry.Pull(soon, wherry.Queue(b, orders), policy) {
			assert.NoError(t, err)
			assert.Equal(t, m.Attempt(), 1)
			m.Settle(wherry.Retry(errors.New("a real error")))
			break
		}
		dead := collectDead(t, b, wherry.DeadLetters(orders))
		assert.Equal(t, len(dead), 1)
		assert.Equal(t, dead[0].Value.Attempts, 1)
	})
}

// A crash, which is a receiver that ends with the message in hand, is no attempt either.
func TestFault12CrashIsNoAttempt(t *testing.T) {
	t.Parallel()
	inEach(t, allShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		publish(t, b, s.topic, order{ID: 1})
		const crashes = 5
		for range crashes {
			crash(t, s, b)
		}
		var seen calls
		r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("attempt %d delivered %d", m.Attempt(), m.Delivered())
			return wherry.Retry(errors.New("a real error"))
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})))
		time.Sleep(time.Second)
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{fmt.Sprintf("attempt 1 delivered %d", crashes+1)})
		dead := collectDead(t, b, s.dead())
		assert.Equal(t, len(dead), 1)
		assert.Equal(t, dead[0].Value.Attempts, 1)
		assert.Equal(t, dead[0].Value.Delivered, crashes+1)
	})
}
