package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// What a process had in hand when it died, or when its connection did, is given to another within the visibility time. The
// broker has counted it, and we have not.
func TestFault5DeadWorkersMessagesComeAgain(t *testing.T) {
	t.Parallel()
	const visibility = 2 * time.Second
	for name, cfg := range map[string]mem.Config{"connection cut": {}, "lease over": {Lease: visibility}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, allShapes, func(t *testing.T, s shape) {
				b := mem.New(cfg)
				defer b.Close(context.Background())
				const n = 5
				publishMany(t, b, s.topic, n)
				dead := s.receiver(t, b)
				got, err := dead.Receive(t.Context(), make([]*driver.Delivery, 0, n))
				assert.NoError(t, err)
				assert.Equal(t, len(got), n)
				began := time.Now()
				var seen calls
				r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
					seen.add("attempt %d delivered %d", m.Attempt(), m.Delivered())
					assert.True(t, time.Since(began) < visibility+10*time.Millisecond, "it came after "+time.Since(began).String())
					return wherry.Ack()
				}))
				synctest.Wait()
				if cfg.Lease == 0 {
					b.Faults().Disconnect(mem.HardCut)
					time.Sleep(100 * time.Millisecond)
					b.Faults().Reconnect()
				}
				time.Sleep(time.Minute)
				r.mustEnd()
				assert.Equal(t, len(seen.all()), n)
				for _, one := range seen.all() {
					assert.Equal(t, one, "attempt 1 delivered 2")
				}
				assert.Equal(t, s.left(t, b), 0)
			})
		})
	}
}

// A handler that lost its message to another settles nothing any more: its outcome is refused and reported.
func TestFault5DeadWorkersOutcomeIsRefused(t *testing.T) {
	t.Parallel()
	inEach(t, allShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		publish(t, b, s.topic, order{ID: 1})
		var seen calls
		var ev events
		first, second := make(chan struct{}), make(chan struct{})
		h := func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("attempt %d delivered %d", m.Attempt(), m.Delivered())
			if m.Delivered() == 1 {
				<-first
				return wherry.Ack()
			}
			<-second
			return wherry.Retry(errors.New("once"))
		}
		again := wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})
		r := start(t, s.runner(b, h, again, wherry.OnEvent(ev.record)), s.runner(b, h, again, wherry.OnEvent(ev.record)))
		time.Sleep(10 * time.Millisecond)
		b.Faults().Disconnect(mem.HardCut)
		time.Sleep(time.Second)
		b.Faults().Reconnect()
		time.Sleep(10 * time.Second)
		assert.Equal(t, seen.all(), []string{"attempt 1 delivered 1", "attempt 1 delivered 2"})
		close(first)
		time.Sleep(time.Second)
		assert.Equal(t, s.left(t, b), 1) // with its new owner
		failed := eventsOf[*wherry.SettleFailed](&ev)
		assert.Equal(t, len(failed), 1)
		assert.ErrorIs(t, failed[0].Err, wherry.ErrRevoked)
		close(second)
		time.Sleep(time.Second)
		r.mustEnd()
		assert.Equal(t, s.left(t, b), 0)
		assert.Equal(t, len(collectDead(t, b, s.dead())), 1)
	})
}

// outage stops the broker for a while and starts it again without its data.
func outage(b *mem.Broker, lasts time.Duration) {
	b.Faults().Disconnect(mem.HardCut)
	b.Faults().WipeTopology()
	time.Sleep(lasts)
	b.Faults().Reconnect()
}

// A broker that comes back empty has its topology declared again: queues, groups, retries, holds and dead letters. The
// consumer is not ready meanwhile, says so once, and is ready again whether or not anything is published.
func TestFault15ConsumptionGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]mem.Config{"delays": {}, "no delay": brokers["no delay"]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, allShapes, func(t *testing.T, s shape) {
				b := mem.New(cfg)
				defer b.Close(context.Background())
				p, err := wherry.NewPublisher(t.Context(), b, s.topic)
				assert.NoError(t, err)
				var seen calls
				var ev events
				runner := s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
					seen.add("%d attempt %d", m.Value.ID, m.Attempt())
					switch {
					case m.Value.ID == 1 && m.Attempt() == 1:
						return wherry.RetryAfter(time.Second, errors.New("once"))
					case m.Value.ID == 2:
						return wherry.Reject(errors.New("no"))
					}
					return wherry.Ack()
				}, wherry.OnEvent(ev.record))
				r := start(t, runner)
				time.Sleep(time.Second)
				time.AfterFunc(2*time.Second, func() { assertReady(t, runner, false, wherry.StateAway) })
				outage(b, 5*time.Second)
				time.Sleep(10 * time.Second)
				assertReady(t, runner, true, wherry.StateRunning)
				assert.NoError(t, p.Publish(t.Context(), &order{ID: 1}))
				time.Sleep(100 * time.Millisecond)
				assert.NoError(t, p.Publish(t.Context(), &order{ID: 2}))
				time.Sleep(10 * time.Second)
				assert.Equal(t, seen.all(), []string{"1 attempt 1", "2 attempt 1", "1 attempt 2"})
				assert.Equal(t, len(eventsOf[*wherry.BrokerAway](&ev)), 1)
				assert.Equal(t, len(eventsOf[*wherry.BrokerBack](&ev)), 1)
				r.mustEnd()
				assert.Equal(t, len(collectDead(t, b, s.dead())), 1)
			})
		})
	}
}

// assertReady looks at the health of a runner that has one.
func assertReady(t *testing.T, r wherry.Runner, ready bool, state wherry.State) {
	t.Helper()
	c, ok := r.(*wherry.Consumer)
	if !ok {
		return // a loop
	}
	h := c.Health()
	assert.Equal(t, h.Ready, ready)
	assert.Equal(t, h.State, state)
}

// A publish that began while the broker was away is there when it is back.
func TestFault15PublishWaitsForTheBroker(t *testing.T) {
	t.Parallel()
	for how, cfg := range joins {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(cfg)
				defer b.Close(context.Background())
				p, err := wherry.NewPublisher(t.Context(), b, orders)
				assert.NoError(t, err)
				time.AfterFunc(time.Second, func() {
					assert.NoError(t, p.Publish(t.Context(), &order{ID: 1}))
				})
				outage(b, 5*time.Second)
				synctest.Wait()
				assert.Equal(t, depthOf(t, b, "orders"), 1)
			})
		})
	}
}

// A consumer that may not declare anything says what is missing, and goes on when somebody has made it.
func TestFault15WhatMayNotBeDeclaredIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders)
		publish(t, b, wherry.NewTopic("orders.dlq", jsonOrders{}))
		var seen calls
		c := wherry.Consume(wherry.Queue(b, orders, wherry.Verify()), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d", m.Value.ID)
			return wherry.Ack()
		})
		r := start(t, c)
		time.Sleep(time.Second)
		outage(b, 5*time.Second)
		time.Sleep(time.Minute)
		h := c.Health()
		assert.Equal(t, h.Ready, false)
		assert.Equal(t, h.State, wherry.StateAway)
		assert.True(t, strings.Contains(h.Detail, `"orders"`) && strings.Contains(h.Detail, driver.ErrNoTopic.Error()), "health names what is missing: "+h.Detail)
		publish(t, b, orders, order{ID: 1})
		time.Sleep(10 * time.Second)
		assert.Equal(t, seen.all(), []string{"1"})
		assert.Equal(t, c.Health().Ready, true)
		r.mustEnd()
	})
}

// A link that dies without an error, and comes back without one, is noticed all the same.
func TestFault15QuietOutageIsNoticed(t *testing.T) {
	t.Parallel()
	inEach(t, handlerShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		var ev events
		runner := s.runner(b, func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() },
			wherry.OnEvent(ev.record))
		r := start(t, runner)
		time.Sleep(time.Second)
		for range 2 {
			b.Faults().Disconnect(mem.SoftCut)
			time.Sleep(5 * time.Second)
			assertReady(t, runner, false, wherry.StateAway)
			b.Faults().Reconnect()
			time.Sleep(5 * time.Second)
			assertReady(t, runner, true, wherry.StateRunning)
		}
		away, back := eventsOf[*wherry.BrokerAway](&ev), eventsOf[*wherry.BrokerBack](&ev)
		assert.Equal(t, fmt.Sprint(len(away), len(back)), "2 2")
		assert.ErrorIs(t, away[0].Err, driver.ErrDisconnected)
		assert.True(t, back[0].After >= 4*time.Second && back[0].After <= 7*time.Second, "away for "+back[0].After.String())
		r.mustEnd()
	})
}

// What is settled while the link is cut is settled when it is back, however long that takes, and holds up nothing.
func TestFault16SettlementsOutlastTheConnection(t *testing.T) {
	t.Parallel()
	inEach(t, allShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		n := 1000
		if s.name == "queue elsewhere" {
			n = 10_000
		}
		publish(t, b, s.topic, order{ID: -1})
		cut := make(chan struct{})
		var mu sync.Mutex
		times := make(map[int]int)
		runner := s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID < 0 {
				return wherry.Ack() // the first, which a worker takes alone
			}
			<-cut
			mu.Lock()
			defer mu.Unlock()
			times[m.Value.ID]++
			return wherry.Ack()
		}, wherry.Prefetch(2*n), wherry.NoHandlerTimeout())
		r := start(t, runner)
		time.Sleep(10 * time.Millisecond)
		b.Faults().Stall("")
		publishMany(t, b, s.topic, n)
		b.Faults().Unstall("") // so that all of it is received together
		time.Sleep(10 * time.Millisecond)
		b.Faults().Disconnect(mem.SoftCut)
		close(cut)
		time.Sleep(time.Minute)
		mu.Lock()
		assert.True(t, len(times) > n/3, fmt.Sprintf("%d were handled while the link was cut", len(times)))
		mu.Unlock()
		b.Faults().Reconnect()
		time.Sleep(5 * time.Second)
		assertReady(t, runner, true, wherry.StateRunning)
		assert.Equal(t, s.left(t, b), 0)
		assert.Equal(t, len(times), n)
		for id, calls := range times {
			assert.Equal(t, fmt.Sprint(id, calls), fmt.Sprint(id, 1))
		}
		r.mustEnd()
	})
}

// When the connection is lost with what it had delivered, the settlements fail with an error that says so, and everything
// comes again.
func TestFault16LostSettlementsAreReported(t *testing.T) {
	t.Parallel()
	inEach(t, allShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		const n = 1000
		publishMany(t, b, s.topic, n)
		cut := make(chan struct{})
		var ev events
		var mu sync.Mutex
		times := make(map[int]int)
		runner := s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			<-cut
			mu.Lock()
			defer mu.Unlock()
			times[m.Value.ID]++
			return wherry.Ack()
		}, wherry.Prefetch(n), wherry.OnEvent(ev.record))
		r := start(t, runner)
		time.Sleep(10 * time.Millisecond)
		b.Faults().SlowSettle("", time.Second) // what is decided waits on its way
		b.Faults().Disconnect(mem.SoftCut)
		close(cut)
		time.Sleep(10 * time.Second)
		b.Faults().Disconnect(mem.HardCut)
		time.Sleep(10 * time.Second)
		b.Faults().Clear()
		time.Sleep(5 * time.Second)
		assertReady(t, runner, true, wherry.StateRunning)
		assert.Equal(t, s.left(t, b), 0)
		assert.Equal(t, len(times), n)
		revoked := 0
		for _, e := range eventsOf[*wherry.SettleFailed](&ev) {
			if errors.Is(e.Err, wherry.ErrRevoked) {
				revoked++
			}
		}
		assert.True(t, revoked > 0, "the lost settlements were reported")
		r.mustEnd()
	})
}
