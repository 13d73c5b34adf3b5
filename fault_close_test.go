package wherry_test

import (
	"context"
	"errors"
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

// sends are publishes in the background, each with its result.
type sends struct {
	wg   sync.WaitGroup
	mu   sync.Mutex // guards the field below
	errs map[int]error
}

// publishEach publishes an order for each number below n, all at once.
func publishEach(ctx context.Context, p *wherry.Publisher[order], n int) *sends {
	s := &sends{errs: make(map[int]error)}
	for i := range n {
		s.wg.Go(func() {
			err := p.Publish(ctx, &order{ID: i})
			s.mu.Lock()
			defer s.mu.Unlock()
			s.errs[i] = err
		})
	}
	return s
}

// results waits for all publishes and returns the numbers of those that were accepted, and the errors of the others.
func (s *sends) results() (accepted []int, refused []error) {
	s.wg.Wait()
	for i := range len(s.errs) {
		if err := s.errs[i]; err != nil {
			refused = append(refused, err)
		} else {
			accepted = append(accepted, i)
		}
	}
	return accepted, refused
}

// Close sends what publishes have collected for the next calls, and waits for nothing else.
func TestFault4CloseSendsWhatWasBuffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{SendBatch: 8})
		defer b.Close(context.Background())
		p, err := wherry.NewPublisher(t.Context(), b, orders)
		assert.NoError(t, err)
		const n = 100
		b.Faults().WithholdConfirms("orders") // the first call stays out, and the others wait for it
		s := publishEach(t.Context(), p, n)
		synctest.Wait()
		time.AfterFunc(100*time.Millisecond, b.Faults().Clear)
		began := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		assert.NoError(t, p.Close(ctx))
		assert.True(t, time.Since(began) < 200*time.Millisecond, "Close took "+time.Since(began).String())
		accepted, refused := s.results()
		assert.Equal(t, len(accepted), n)
		assert.Equal(t, len(refused), 0)
		assert.Equal(t, depthOf(t, b, "orders"), n)
	})
}

// lingering is a broker whose receivers would rather have settlements wait for an hour.
type lingering struct{ *mem.Broker }

func (l lingering) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := l.Broker.OpenQueue(ctx, s)
	return lingeringReceiver{r}, err
}

type lingeringReceiver struct{ driver.Receiver }

func (lingeringReceiver) Info() driver.Info {
	return driver.Info{SettleBatch: 1000, SettleLinger: time.Hour, HasCount: true}
}

// A stop settles what waits for other settlements, though their linger is not over.
func TestFault4StopSettlesWhatLingers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		const n = 100
		publishMany(t, b, orders, n)
		blocked := make(chan struct{})
		r := start(t, wherry.Consume(wherry.Queue(lingering{b}, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID == n-2 {
				close(blocked)
				<-ctx.Done() // what was handled before waits with it
			}
			return wherry.Ack()
		}, wherry.Prefetch(n), wherry.DrainTime(0)))
		<-blocked
		assert.True(t, depthOf(t, b, "orders") >= n-1, "what was handled lingers") // but for what a worker takes first, alone
		began := time.Now()
		r.mustEnd()
		assert.True(t, time.Since(began) < 200*time.Millisecond, "Run took "+time.Since(began).String())
		assert.Equal(t, depthOf(t, b, "orders"), 1) // the last was never begun
	})
}

// A batch that waits for its age when the consumer stops is handled at once where the broker forgets it, and goes back
// at once where it does not.
func TestFault4StopDoesNotWaitForABatchToAge(t *testing.T) {
	t.Parallel()
	for name, remote := range map[string]bool{"in process": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				publishMany(t, b, orders, 3)
				source := wherry.Queue(b, orders)
				if remote {
					source = wherry.Queue(elsewhere{b}, orders)
				}
				var seen calls
				r := start(t, wherry.ConsumeBatch(source, func(_ context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
					seen.add("%d", mb.Len())
					return wherry.Ack()
				}, wherry.BatchAge(time.Hour)))
				time.Sleep(time.Second)
				began := time.Now()
				r.mustEnd()
				assert.True(t, time.Since(began) < 200*time.Millisecond, "Run took "+time.Since(began).String())
				if remote {
					assert.Equal(t, len(seen.all()), 0)
					assert.Equal(t, depthOf(t, b, "orders"), 3)
				} else {
					assert.Equal(t, seen.all(), []string{"3"})
					assert.Equal(t, depthOf(t, b, "orders"), 0)
				}
			})
		})
	}
}

// publishMany publishes n orders with numbers from 0.
func publishMany(tb testing.TB, b driver.Broker, topic wherry.TopicOf[order], n int) {
	tb.Helper()
	vs := make([]order, n)
	for i := range vs {
		vs[i].ID = i
	}
	publish(tb, b, topic, vs...)
}

// joins are a broker on which each publish is a call, and one on which they share calls.
var joins = map[string]mem.Config{"each alone": {MaxMessages: 4}, "joined": {MaxMessages: 4, SendBatch: 3}}

// Senders that wait for room when the publisher or the broker is closed are told so; what was accepted before is kept.
func TestFault25SendersThatWaitAreToldOfTheEnd(t *testing.T) {
	t.Parallel()
	ends := map[string]func(context.Context, *mem.Broker, *wherry.Publisher[order]) error{
		"publisher": func(ctx context.Context, _ *mem.Broker, p *wherry.Publisher[order]) error { return p.Close(ctx) },
		"broker":    func(ctx context.Context, b *mem.Broker, _ *wherry.Publisher[order]) error { return b.Close(ctx) },
	}
	for how, cfg := range joins {
		for what, end := range ends {
			t.Run(what+", "+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := mem.New(cfg)
					defer b.Close(context.Background())
					p, err := wherry.NewPublisher(t.Context(), b, orders)
					assert.NoError(t, err)
					const n = 20
					s := publishEach(t.Context(), p, n)
					time.Sleep(time.Second)
					began := time.Now()
					ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
					defer stop()
					assert.NoError(t, end(ctx, b, p))
					accepted, refused := s.results()
					assert.True(t, time.Since(began) <= 2*time.Second, "the senders waited for "+time.Since(began).String())
					assert.Equal(t, len(accepted), cfg.MaxMessages)
					assert.Equal(t, len(refused), n-cfg.MaxMessages)
					for _, err := range refused {
						assert.ErrorIs(t, err, wherry.ErrClosed)
						assert.ErrorIs(t, err, wherry.ErrNotSent)
					}
					assert.ErrorIs(t, p.Publish(t.Context(), &order{}), wherry.ErrClosed)
					if what == "publisher" {
						assert.Equal(t, depthOf(t, b, "orders"), cfg.MaxMessages)
					}
				})
			})
		}
	}
}

// A stop empties the queue, those who wait for room included: what was accepted is handled, once.
func TestFault25StopFinishesWhatWasAccepted(t *testing.T) {
	t.Parallel()
	for how, cfg := range joins {
		for _, s := range handlerShapes {
			if s.remote || s.group != "" {
				continue // published to another topic, or kept where it is
			}
			t.Run(s.name+", "+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := mem.New(cfg)
					defer b.Close(context.Background())
					p, err := wherry.NewPublisher(t.Context(), b, orders)
					assert.NoError(t, err)
					var handled calls
					r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
						time.Sleep(10 * time.Millisecond)
						if m.Value.ID == 7 && m.Attempt() == 1 {
							return wherry.Retry(errors.New("once"))
						}
						handled.add("%d", m.Value.ID)
						return wherry.Ack()
					}, wherry.Prefetch(1)))
					const n = 40
					sent := publishEach(t.Context(), p, n)
					time.Sleep(25 * time.Millisecond)
					r.mustEnd()
					accepted, refused := sent.results()
					assert.Equal(t, len(refused), 0)
					assert.Equal(t, len(accepted), n)
					times := make(map[string]int)
					for _, id := range handled.all() {
						times[id]++
					}
					for id := range n {
						assert.Equal(t, times[fmt.Sprint(id)], 1)
					}
					assert.Equal(t, depthOf(t, b, "orders"), 0)
				})
			})
		}
	}
}

// A publish without a deadline waits 30 s for room, no longer, however many wait before it.
func TestFault25SendersDoNotWaitForEver(t *testing.T) {
	t.Parallel()
	for how, cfg := range joins {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(cfg)
				defer b.Close(context.Background())
				p, err := wherry.NewPublisher(t.Context(), b, orders)
				assert.NoError(t, err)
				publishMany(t, b, orders, cfg.MaxMessages)
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				patient := publishEach(ctx, p, 1)
				synctest.Wait() // it is first in line, and in no hurry
				began := time.Now()
				accepted, refused := publishEach(context.Background(), p, 20).results()
				assert.True(t, time.Since(began) <= 31*time.Second, "the last waited for "+time.Since(began).String())
				assert.Equal(t, len(accepted), 0)
				for _, err := range refused {
					assert.ErrorIs(t, err, wherry.ErrNotSent)
				}
				stop()
				patient.results()
				assert.NoError(t, p.Close(t.Context()))
			})
		})
	}
}

// A publish with a deadline waits until then, though that is longer than others wait.
func TestFault25SendersWaitAsLongAsAsked(t *testing.T) {
	t.Parallel()
	for how, cfg := range joins {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(cfg)
				defer b.Close(context.Background())
				publishMany(t, b, orders, cfg.MaxMessages)
				p, err := wherry.NewPublisher(t.Context(), b, orders)
				assert.NoError(t, err)
				ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
				defer stop()
				s := publishEach(ctx, p, 2)
				time.Sleep(2 * time.Minute)
				r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
					return wherry.Ack()
				}))
				accepted, refused := s.results()
				assert.Equal(t, len(accepted), 2)
				assert.Equal(t, len(refused), 0)
				r.mustEnd()
				assert.NoError(t, p.Close(t.Context()))
			})
		})
	}
}
