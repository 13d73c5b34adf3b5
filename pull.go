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
// The options are those of [Consume] that mean something without a handler. Middleware, more than one worker or lane,
// [HandlerTimeout], [DrainTime] and [GraceTime] are errors: the loop is the caller's, and takes what time it takes. Event functions
// get what they get from any consumer; a [Handled] is a message that was settled. A context that has ended before the loop begins
// is an error.
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
		c.spec.fitLoop(c.source)
		c.spec.fill(c.source)
		err := c.mistakes()
		if err == nil {
			err = pull(ctx, c, s.topic, yield)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// fitLoop refuses what has no meaning for a loop, and takes the time limits of handlers off it.
func (c *consumeSpec) fitLoop(s *sourceSpec) {
	if len(c.middleware) > 0 || c.workers > 1 || c.scale != nil || c.concurrency > 1 {
		c.failf("Pull has one loop and no handler: no workers, concurrency or middleware")
	}
	if c.timeout != 0 && c.timeout != never {
		c.failf("Pull calls no handler that could be timed: no HandlerTimeout")
	}
	if c.drainSet || c.graceSet {
		c.failf("Pull ends with its loop, which it does not wait for: no DrainTime, no GraceTime")
	}
	if s.manner == transacted {
		c.failf("Pull does not fit transactions, whose publishers need a handler: use Consume")
	}
	c.timeout = never
}

// pull runs the loop. It returns an error that the loop has not seen.
func pull[T any](ctx context.Context, c *Consumer, t *topicSpec[T], yield func(*Pulled[T], error) bool) (err error) {
	r, err := c.open(ctx)
	if err != nil {
		return c.fail(err)
	}
	defer func() {
		c.over(r)
		r.emit(&Stopped{Origin: r.origin, Err: err})
	}()
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
				return c.fail(r.failure)
			}
			return nil
		}
		if why := refuse(&c.spec, d); why != 0 && (why != refusedAbandoned || !p.lane.spares()) {
			s = p.lane.conclude(d, refused(&c.spec, d, why))
			continue
		}
		m.d = d
		if err := decode(d, &m.Value); err != nil {
			s = p.lane.told(d, undecodable(d, err))
			continue
		}
		one := &Pulled[T]{Message: m}
		more := yield(one, nil)
		s = driver.Settlement{Delivery: d}
		if one.settled {
			if ctx.Err() != nil {
				r.draining.Store(true) // what failed has failed with its loop's context
			}
			s = p.lane.told(d, one.outcome)
		} else if p.lane.tells {
			r.emit(&Released{Origin: r.origin, Count: 1, Why: "not settled by the loop"})
		}
		if !more {
			p.w.last(p.lane, s)
			return nil
		}
	}
}

// told is conclude with the event of the outcome.
func (l *lane) told(d *driver.Delivery, o Outcome) driver.Settlement {
	if l.tells {
		l.tell(d, o)
	}
	return l.conclude(d, o)
}

// A puller is a worker whose only lane is the caller's goroutine.
type puller struct {
	r       *running
	w       *worker
	lane    *lane
	stop    context.CancelFunc
	unwatch context.CancelFunc
	beside  sync.WaitGroup
}

func newPuller(ctx context.Context, r *running) *puller {
	intake, stop := context.WithCancel(ctx)
	p := &puller{r: r, w: r.crew.now()[0], stop: stop}
	r.looped = true
	r.tellStarted()
	r.health.set(StateRunning)
	kept := context.WithoutCancel(ctx)
	p.w.begin(kept, intake)
	p.lane = &lane{
		w: p.w, wake: make(chan struct{}, 1), goroutine: goroutineID(), spec: &r.c.spec, tells: r.listening(),
	}
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
	watching, unwatch := context.WithCancel(kept) // the loop may be at its last message for long
	p.unwatch = unwatch
	p.beside.Go(func() { r.watch(watching) })
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
	p.unwatch()
	p.beside.Wait()
}
