package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A ledger knows what became of each order, by what its handler said.
type ledger struct {
	mu       sync.Mutex // guards the fields below
	acked    map[int]bool
	rejected map[int]bool
	failures map[int]int
	wrong    []string
}

func newLedger() *ledger {
	return &ledger{acked: make(map[int]bool), rejected: make(map[int]bool), failures: make(map[int]int)}
}

// say is a hostile handler's outcome for an order, which depends on the order and its failures alone.
func (l *ledger) say(m *wherry.Message[order]) (o wherry.Outcome, ends func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := m.Value.ID
	if m.Attempt() > 1+l.failures[id] {
		l.wrong = append(l.wrong, fmt.Sprintf("order %d is at attempt %d after %d failures", id, m.Attempt(), l.failures[id]))
	}
	switch (id*7 + m.Attempt()*3) % 11 {
	case 0:
		l.failures[id]++
		return wherry.Retry(errors.New("again")), nil
	case 1:
		l.failures[id]++
		return wherry.Outcome{}, func() { panic("hostile") }
	case 2:
		l.failures[id]++
		return wherry.Outcome{}, runtime.Goexit
	case 3:
		l.failures[id]++
		return wherry.RetryAfter(0, nil), nil
	case 4:
		if id%5 == 0 {
			l.rejected[id] = true
			return wherry.Reject(nil), nil
		}
	case 5:
		if m.Published().Add(5 * time.Second).After(time.Now()) {
			return wherry.Defer(0), nil
		}
	}
	l.acked[id] = true
	return wherry.Ack(), nil
}

// A storm is a run of a consumer under faults that depend on a seed alone.
type storm struct {
	*ledger
	t   *testing.T
	rng *rand.Rand
	b   *mem.Broker
	ev  events
}

func (s *storm) one(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
	if m.Value.ID%3 == 0 {
		time.Sleep(time.Duration(m.Value.ID%40) * time.Millisecond)
	}
	o, ends := s.say(m)
	if ends != nil {
		ends()
	}
	return o
}

func (s *storm) many(_ context.Context, b *wherry.MessageBatch[order]) wherry.Outcome {
	var end func()
	for i, m := range b.All() {
		o, ends := s.say(m)
		if ends != nil {
			// A panic is a retry of all that was not set; here everything else is.
			o, end = wherry.Outcome{}, ends
			if m.Value.ID%2 == 0 {
				continue
			}
		}
		b.Set(i, o)
	}
	if b.Len() == 1 && end != nil {
		end()
	}
	return wherry.Outcome{}
}

func (s *storm) pick(options ...int) int { return options[s.rng.IntN(len(options))] }

// consumer is one of any shape.
func (s *storm) consumer() *wherry.Consumer {
	source := wherry.Queue(s.b, orders)
	if s.pick(0, 1) == 1 {
		source = wherry.Queue(elsewhere{s.b}, orders)
	}
	common := []wherry.ConsumerOption{
		wherry.MaxDelivered(10_000), wherry.Workers(s.pick(1, 1, 3)), wherry.Prefetch(s.pick(1, 2, 7, 500)),
		wherry.HandlerTimeout(time.Duration(s.pick(1, int(time.Second), int(time.Hour), int(time.Hour)))),
		wherry.RetryWith(wherry.RetryPolicy{First: time.Duration(s.pick(1, int(time.Second)))}), wherry.OnEvent(s.ev.record),
	}
	if s.pick(0, 1, 2) == 0 {
		age := time.Duration(s.pick(0, 1, int(time.Second)))
		opts := []wherry.BatchOption{wherry.BatchSize(s.pick(1, 3, 50)), wherry.BatchAge(age)}
		for _, o := range common {
			opts = append(opts, o)
		}
		return wherry.ConsumeBatch(source, s.many, opts...)
	}
	opts := []wherry.ConsumeOption{wherry.Concurrency(s.pick(1, 2, 9))}
	for _, o := range common {
		opts = append(opts, o)
	}
	return wherry.Consume(source, s.one, opts...)
}

// blow does one bad thing to the consumer or its broker.
func (s *storm) blow(c *wherry.Consumer) {
	f := s.b.Faults()
	ms := func(n int) time.Duration { return time.Duration(s.rng.IntN(n)) * time.Millisecond }
	switch s.rng.IntN(12) {
	case 0:
		f.FailSettle("orders", s.pick(1, 5, 50))
	case 1:
		f.FailSend("orders.dlq", s.pick(1, 5), nil)
	case 2:
		f.FailSend("orders", s.pick(1, 5), nil)
	case 3:
		f.Disconnect(mem.HardCut)
		time.Sleep(ms(3000))
		f.Reconnect()
	case 4:
		f.Disconnect(mem.SoftCut)
		time.Sleep(ms(3000))
		f.Reconnect()
	case 5:
		resume := c.Pause("hostile")
		time.Sleep(ms(500))
		resume()
		resume()
	case 6:
		c.PauseFor(ms(500), "hostile")
	case 7:
		f.SlowSettle("orders", ms(300))
	case 8:
		f.Stall("orders")
		time.Sleep(ms(500))
		f.Unstall("orders")
	case 9:
		f.Duplicate("orders", s.pick(1, 3))
	case 10:
		f.Reorder("orders", s.rng.Uint64())
	case 11:
		err := c.Run(s.t.Context())
		assert.ErrorIs(s.t, err, wherry.ErrAlreadyRunning)
	}
}

// Under faults of every kind, several runs and hostile handlers, every order ends acknowledged or among the dead
// letters, and no order is at a later attempt than its failures say.
func TestNothingIsLostInAStorm(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &storm{ledger: newLedger(), t: t, rng: rand.New(rand.NewPCG(seed, 1))}
				s.b = mem.New(mem.Config{
					Poison: true, MaxMessages: s.pick(60, 1000), MaxDeadLetters: 1000,
					Lease: time.Duration(s.pick(0, 0, int(100*time.Millisecond))),
				})
				const n = 60
				publishMany(t, s.b, orders, n)
				c := s.consumer()
				for range s.pick(1, 3) {
					r := start(t, c)
					synctest.Wait()
					for range s.pick(1, 4, 12) {
						s.blow(c)
						time.Sleep(time.Duration(s.rng.IntN(400)) * time.Millisecond)
					}
					s.b.Faults().Clear()
					if err := r.end(); err != nil { // paused, or with retries that are due after the drain time
						left, ok := errors.AsType[*wherry.AbandonedError](err)
						assert.True(t, ok && left.Handlers == 0, "Run: "+err.Error())
					}
				}
				r := start(t, c)
				time.Sleep(2 * time.Minute)
				r.mustEnd()
				assert.Equal(t, depthOf(t, s.b, "orders"), 0)
				dead := make(map[int]bool)
				for _, m := range collectDead(t, s.b, wherry.DeadLetters(orders)) {
					dead[m.Value.Value.ID] = true
				}
				for id := range n {
					assert.True(t, s.acked[id] || dead[id], fmt.Sprintf("order %d is lost", id))
					given := s.rejected[id] || s.failures[id] >= 5
					assert.True(t, !dead[id] || given, fmt.Sprintf("order %d is dead after %d failures", id, s.failures[id]))
				}
				assert.Equal(t, strings.Join(s.wrong, "; "), "")
				assert.NoError(t, s.b.Close(context.Background()))
			})
		})
	}
}
