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
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A process is a consumer that dies of one message, with all that it has in hand, and is started again.
type process struct {
	s      shape
	b      *mem.Broker
	poison int
	deaths int

	mu      sync.Mutex // guards the field below
	handled map[int]int
}

// live runs the process, and runs it again each time it dies, until nothing kills it for a minute.
func (p *process) live(t *testing.T, opts ...wherry.ConsumerOption) {
	t.Helper()
	for {
		died := make(chan struct{}, 100)
		r := start(t, p.s.runner(p.b, func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID == p.poison {
				assert.Equal(t, m.Attempt(), 1)
				died <- struct{}{}
				<-ctx.Done() // nothing here outlives the process
				return wherry.Retry(context.Cause(ctx))
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return wherry.Retry(context.Cause(ctx))
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.handled[m.Value.ID]++
			return wherry.Ack()
		}, append([]wherry.ConsumerOption{wherry.DrainTime(0)}, opts...)...))
		select {
		case <-died:
			synctest.Wait()
			p.b.Faults().Revoke(p.s.topic.Name(), 0) // what it had comes again, counted
			_ = r.end()
			p.deaths++
		case <-time.After(time.Minute):
			r.mustEnd()
			return
		}
	}
}

// A message that kills its process is given up after twenty deliveries, without another call. The others, many of which
// were in the hands of a process that died, are handled.
func TestFault27OnlyTheGuiltyIsAbandoned(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]mem.Config{
		"in order": {}, "behind": brokers["requeues behind"], "leases": {Lease: time.Second}, "reuses tags": brokers["reuses tags"],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, handlerShapes, func(t *testing.T, s shape) {
				b := mem.New(cfg)
				defer b.Close(context.Background())
				const n = 100
				publishMany(t, b, s.topic, n)
				p := &process{s: s, b: b, poison: 5, handled: make(map[int]int)}
				p.live(t)
				assert.Equal(t, p.deaths, 20)
				assert.Equal(t, len(p.handled), n-1)
				assert.Equal(t, s.left(t, b), 0)
				dead := collectDead(t, b, s.dead())
				for _, one := range dead {
					d := one.Value
					assert.Equal(t, fmt.Sprint(d.Value.ID, d.Reason, d.Attempts, d.Delivered),
						fmt.Sprint(p.poison, wherry.ReasonAbandoned, 0, 21))
				}
				assert.Equal(t, len(dead), 1)
			})
		})
	}
}

var _ = errors.New
