package wherry_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A mortal is a process that dies when its handler gets the one order that kills it, with everything it has in hand, and is
// started again.
type mortal struct {
	start func(h wherry.Handler[order]) *run
	die   func() // gives all that the process has to others, as the broker does when its connection is gone
	queue *mem.Broker
	topic string

	mu      sync.Mutex // guards the fields below
	deaths  int
	handled map[int]int
}

const (
	killer    = 5
	manyTimes = 60 // more than any message may be delivered
)

// live lets the process live until nothing kills it for a minute.
func (p *mortal) live(t *testing.T) {
	t.Helper()
	p.handled = make(map[int]int)
	for p.deaths < manyTimes {
		died := make(chan struct{}, manyTimes)
		r := p.start(func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			took := 10 * time.Millisecond
			if m.Value.ID == killer {
				died <- struct{}{}
				took = time.Hour
			}
			select {
			case <-time.After(took):
			case <-ctx.Done(): // nothing here outlives the process
				return wherry.Retry(context.Cause(ctx))
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.handled[m.Value.ID]++
			return wherry.Ack()
		})
		select {
		case <-died:
			synctest.Wait()
			p.queue.Faults().PauseQueue(p.topic) // the dead take nothing, of each other's neither
			p.die()
			_ = r.end()
			p.queue.Faults().ResumeQueue(p.topic)
			p.deaths++
		case <-time.After(time.Minute):
			r.mustEnd()
			return
		}
	}
}

// assertOnlyKiller looks at what was given up: the one message, after so many deliveries and no failed attempt.
func assertOnlyKiller(t *testing.T, s shape, b *mem.Broker, delivered int) {
	t.Helper()
	dead := collectDead(t, b, s.dead())
	assert.Equal(t, len(dead), 1)
	for _, one := range dead {
		d := one.Value
		assert.Equal(t, fmt.Sprint(d.Value.ID, d.Reason, d.Attempts, d.Delivered),
			fmt.Sprint(killer, wherry.ReasonAbandoned, 0, delivered))
	}
	assert.Equal(t, s.left(t, b), 0)
}

// A message that kills its process is given up after twenty deliveries, without another call. The others, many of which
// were in the hands of a process that died, are handled.
func TestFault27OnlyTheGuiltyIsAbandoned(t *testing.T) {
	t.Parallel()
	type limits struct {
		broker string
		most   int
	}
	for _, l := range []limits{
		{"good", 20}, {"good", 4}, {"requeues behind", 20}, {"leases", 20}, {"reuses tags", 20}, {"counts releases", 20},
	} {
		t.Run(fmt.Sprintf("%s, %d", l.broker, l.most), func(t *testing.T) {
			t.Parallel()
			inEach(t, allShapes, func(t *testing.T, s shape) {
				broker := l.broker
				if broker == "counts releases" && !s.remote {
					broker = "good" // what forgets at exit has no counts that outlive a process
				}
				b := mem.New(brokers[broker])
				defer b.Close(context.Background())
				const n = 100
				publishMany(t, b, s.topic, n)
				p := &mortal{
					queue: b, topic: s.topic.Name(),
					start: func(h wherry.Handler[order]) *run {
						return start(t, s.runner(b, h, append(s.drain(0), wherry.MaxDelivered(l.most))...))
					},
					die: func() { b.Faults().Revoke(s.topic.Name(), 0) },
				}
				p.live(t)
				if broker == "counts releases" {
					assert.True(t, p.deaths <= l.most, fmt.Sprintf("%d deaths", p.deaths)) // what goes back was delivered too
				} else {
					assert.Equal(t, p.deaths, l.most)
				}
				assert.Equal(t, len(p.handled), n-1)
				assertOnlyKiller(t, s, b, l.most+1)
			})
		})
	}
}

// tracked is one process's view of the broker: it knows what that process has opened.
type tracked struct {
	*mem.Broker
	mu   sync.Mutex // guards the field below
	open []driver.Receiver
}

func (b *tracked) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.Broker.OpenQueue(ctx, s)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.open = append(b.open, r)
	}
	return r, err
}

// die ends the tenures of what was opened.
func (b *tracked) die(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.open {
		assert.NoError(t, b.Faults().RevokeReceiver(r, 0))
	}
	b.open = nil
}

// Of three processes on one queue it kills now one, now another, in all twenty times.
func TestFault27ProcessesDieInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		const n = 100
		publishMany(t, b, orders, n)
		var processes []*mortal
		var wg sync.WaitGroup
		for range 3 {
			own := &tracked{Broker: b}
			p := &mortal{
				queue: b, topic: orders.Name(),
				start: func(h wherry.Handler[order]) *run {
					return start(t, wherry.Consume(wherry.Queue(own, orders), h, wherry.DrainTime(0), wherry.Concurrency(2)))
				},
				die: func() { own.die(t) },
			}
			processes = append(processes, p)
			wg.Go(func() { p.live(t) })
		}
		wg.Wait()
		deaths := 0
		handled := make(map[int]int)
		for _, p := range processes {
			deaths += p.deaths
			for id, times := range p.handled {
				handled[id] += times
			}
		}
		assert.Equal(t, deaths, 20)
		assert.Equal(t, len(handled), n-1)
		assertOnlyKiller(t, handlerShapes[0], b, 21)
	})
}

// Another consumer of the process, which always has a slow message in hand when it dies, loses none of its own.
func TestFault27OtherConsumersOfTheProcessLoseNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		beside := wherry.NewTopic("beside", jsonOrders{})
		const n = 10
		publishMany(t, b, orders, n)
		publishMany(t, b, beside, n)
		var mu sync.Mutex
		slow := make(map[int]int)
		p := &mortal{
			queue: b, topic: orders.Name(),
			start: func(h wherry.Handler[order]) *run {
				first := wherry.Consume(wherry.Queue(b, beside), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
						return wherry.Retry(context.Cause(ctx))
					}
					mu.Lock()
					defer mu.Unlock()
					slow[m.Value.ID]++
					return wherry.Ack()
				}, wherry.DrainTime(0))
				return start(t, first, wherry.Consume(wherry.Queue(b, orders), h, wherry.DrainTime(0)))
			},
			die: func() { b.Faults().Revoke("", 0) },
		}
		p.live(t)
		assert.Equal(t, p.deaths, 20)
		assert.Equal(t, len(slow), n)
		assert.Equal(t, depthOf(t, b, "beside.dlq"), 0)
		assertOnlyKiller(t, handlerShapes[0], b, 21)
	})
}

// A message that was in hand at many deaths, and is only slow, holds up the lanes beside it for a few seconds at the most.
func TestFault27SlowMessageIsNotTakenForAKiller(t *testing.T) {
	t.Parallel()
	for _, s := range handlerShapes {
		if s.name != "queue, many lanes" && s.name != "queue, many workers" && s.name != "queue elsewhere" {
			continue // it holds up its own lane
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				publish(t, b, s.topic, order{ID: 0})
				for range 15 {
					crash(t, s, b)
				}
				began := time.Now()
				var mu sync.Mutex
				after := make(map[int]time.Duration)
				r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
					if m.Value.ID == 0 {
						time.Sleep(20 * time.Second)
					}
					mu.Lock()
					defer mu.Unlock()
					after[m.Value.ID] = time.Since(began).Round(time.Second)
					return wherry.Ack()
				}))
				time.Sleep(time.Millisecond)
				publish(t, b, s.topic, order{ID: 1}, order{ID: 2})
				time.Sleep(time.Minute)
				r.mustEnd()
				assert.Equal(t, after[0], 20*time.Second)
				assert.Equal(t, len(after), 3)
				assert.True(t, after[1] <= 5*time.Second && after[2] <= 5*time.Second, fmt.Sprintf("the others came after %v", after))
			})
		})
	}
}
