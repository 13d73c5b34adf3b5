package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// tally counts how often each order was handled, and fails some for the first time.
type tally struct {
	mu     sync.Mutex
	times  map[int]int
	random *rand.Rand
}

func (a *tally) handle(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
	a.mu.Lock()
	pause := time.Duration(a.random.IntN(30)) * time.Millisecond
	retry := m.Attempt() == 1 && a.random.IntN(5) == 0
	if !retry {
		a.times[m.Value.ID]++
	}
	a.mu.Unlock()
	time.Sleep(pause)
	if retry {
		return wherry.Retry(errors.New("once"))
	}
	return wherry.Ack()
}

func (a *tally) check(t *testing.T, n, most int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range n {
		if got := a.times[id]; got < 1 || got > most {
			t.Errorf("order %d was handled %d times", id, got)
		}
	}
}

// However workers come and go, each message is handled, and once; where receivers end as well, at least once.
func TestScaleStorm(t *testing.T) {
	t.Parallel()
	const n = 600
	for seed := range uint64(30) {
		kills := seed%2 == 1
		t.Run(fmt.Sprintf("%d kills %v", seed, kills), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 2))
				b := newTold(t)
				b.tell(1, 0)
				var d dial
				var ev events
				a := &tally{times: map[int]int{}, random: rand.New(rand.NewPCG(seed, 3))}
				opts := []wherry.ConsumeOption{
					d.between(1, 6), wherry.Concurrency(1 + random.IntN(4)), wherry.Prefetch(1 + random.IntN(20)),
					wherry.OnEvent(ev.record),
				}
				var c *wherry.Consumer
				if kills {
					c = wherry.Consume(wherry.Queue(b, orders), a.handle, opts...)
				} else {
					c = wherry.Consume(wherry.Queue(b.Broker, orders), a.handle, opts...) // with all abilities
				}
				r := start(t, c)
				synctest.Wait()
				for id := range n {
					publish(t, b, orders, order{ID: id})
					switch random.IntN(8) {
					case 0:
						d.want.Store(int64(1 + random.IntN(6)))
					case 1:
						time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
					case 2:
						c.PauseFor(time.Duration(random.IntN(20))*time.Millisecond, "a rest")
					case 3:
						if kills && random.IntN(4) == 0 {
							b.kill(t, random.IntN(len(b.openedAt())))
						}
					default:
					}
				}
				time.Sleep(20 * time.Millisecond) // no pause lasts longer, and a paused consumer is not waited for
				if kills || random.IntN(2) == 0 { // else it is emptied at the stop
					for depthOf(t, b.Broker, "orders") > 0 {
						time.Sleep(time.Second)
					}
				}
				b.tell(0, 0)
				r.mustEnd()
				if kills {
					a.check(t, n, n)
				} else {
					a.check(t, n, 1)
					assert.Equal(t, c.Health().Handled, uint64(len(eventsOf[*wherry.Handled](&ev))))
				}
				assert.Equal(t, len(eventsOf[*wherry.Abandoned](&ev)), 0)
				assert.True(t, len(eventsOf[*wherry.Scaled](&ev)) > 5, "nothing was scaled")
				assert.Equal(t, c.Health().InFlight, 0)
			})
		})
	}
}
