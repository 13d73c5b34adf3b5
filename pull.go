package wherry

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A Pulled is a message that a loop over [Pull] settles itself. It is valid until the loop asks for the next.
type Pulled[T any] struct {
	*Message[T]
	outcome Outcome
	settled bool
}

// Settle gives the message its outcome, with all that a handler's would do. A later call replaces an earlier one; what
// counts is what stands when the loop asks for the next message or ends.
func (p *Pulled[T]) Settle(o Outcome) { p.outcome, p.settled = o, true }

// Pull returns an iterator over the messages of a source, one at a time, for programs that want a loop instead of a
// handler. A message that was not settled when the loop asks for the next, or ends, is released: it comes again, and no
// attempt is counted. The iterator ends when ctx does; an error comes once, with a nil message, and ends it. What was
// received and not seen goes back to the broker. It may be used once. While its consumer, which each message knows, is paused
// (see [Consumer.Pause]) the iterator waits before it asks for another message.
//
// The options are those of [Consume]; middleware, workers and concurrency do not fit and are errors.
func Pull[T any](ctx context.Context, s Source[T], opts ...ConsumeOption) iter.Seq2[*Pulled[T], error] {
	return func(yield func(*Pulled[T], error) bool) {
		c := newConsumer(s)
		for _, o := range opts {
			if o == nil {
				c.spec.failf("a consume option is nil")
				continue
			}
			o.applyConsume(&c.spec)
		}
		if len(c.spec.middleware) > 0 || c.spec.workers > 1 || c.spec.scale != nil || c.spec.concurrency > 1 {
			c.spec.failf("Pull has one loop and no handler: no workers, concurrency or middleware")
		}
		if c.source.manner == transacted {
			c.spec.failf("Pull does not fit transactions, whose publishers need a handler: use Consume")
		}
		c.spec.fill(c.source)
		err := c.mistakes()
		if err == nil {
			if err = pull(ctx, c, s.topic, yield); err != nil {
				err = c.fail(err)
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// pull runs the loop. It returns an error that the loop has not seen.
func pull[T any](ctx context.Context, c *Consumer, t *topicSpec[T], yield func(*Pulled[T], error) bool) error {
	r, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer c.over(r)
	defer r.close()
	p := newPuller(ctx, r)
	defer p.end()
	m := &Message[T]{codec: t.codec, message: message{consumer: c}}
	decode := bindDecode(t.codec)
	var s driver.Settlement
	for {
		d := p.w.next(p.lane, s)
		if d == nil {
			if r.isFailed() {
				return r.failure
			}
			return nil
		}
		if why := refuse(&c.spec, d); why != 0 && (why != refusedAbandoned || !p.lane.spares()) {
			s = p.lane.conclude(d, refused(&c.spec, d, why))
			continue
		}
		m.d = d
		if err := decode(d, &m.Value); err != nil {
			s = p.lane.conclude(d, undecodable(d, err))
			continue
		}
		one := &Pulled[T]{Message: m}
		more := yield(one, nil)
		s = driver.Settlement{Delivery: d}
		if one.settled {
			if ctx.Err() != nil {
				r.draining.Store(true) // what failed has failed with its loop's context
			}
			s = p.lane.conclude(d, one.outcome)
		}
		if !more {
			p.w.last(p.lane, s)
			return nil
		}
	}
}

// A puller is a worker whose only lane is the caller's goroutine.
type puller struct {
	r      *running
	w      *worker
	lane   *lane
	stop   context.CancelFunc
	beside sync.WaitGroup
}

func newPuller(ctx context.Context, r *running) *puller {
	intake, stop := context.WithCancel(ctx)
	p := &puller{r: r, w: r.crew.now()[0], stop: stop}
	r.health.set(StateRunning)
	p.w.begin(context.WithoutCancel(ctx), intake)
	p.lane = &lane{w: p.w, wake: make(chan struct{}, 1), goroutine: goroutineID(), spec: &r.c.spec}
	p.w.lanes = []*lane{p.lane}
	p.w.follow(&p.beside)
	if r.holds != nil {
		p.beside.Go(func() { r.holds.run(intake) })
	}
	p.beside.Go(func() {
		select {
		case <-r.failed: // the receive that found out waits for the end of the intake
			stop()
		case <-intake.Done():
		}
	})
	release := context.AfterFunc(intake, p.w.stop) // the loop may be parked
	p.stop = func() {
		release()
		stop()
	}
	return p
}

func (p *puller) end() {
	p.stop()
	p.w.stop()
	close(p.w.lanesDone)
	last := time.AfterFunc(settleTimeout, p.w.endSettling)
	defer last.Stop()
	p.w.finish()
	p.beside.Wait()
}
