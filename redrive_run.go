package wherry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	redriveBatch = 64
	// redriveIdle is how long a redrive waits for another dead letter before it takes the topic for empty.
	redriveIdle = 500 * time.Millisecond
	// redrivePatience is for how long none may come while the broker says that there are more.
	redrivePatience = 10 * time.Second
	// maxPassedOver is how many dead letters that were not asked for a redrive holds back at most.
	maxPassedOver = 10_000
	// maxAgain is how many in a row may have been given up since the redrive began. Dead letters come in about the order in
	// which they were given up: behind so many there is nothing older.
	maxAgain = 512
	// redriveMark is how many letters a redrive's mark has: 50 bits by chance.
	redriveMark = 10
)

// A redrive reads dead letters. It moves some of them, or only shows them.
type redrive struct {
	spec   *redriveSpec
	topic  *topicCore
	b      driver.Queuer
	source driver.Source
	recv   *sideline
	out    *outlet // nil when nothing is moved
	sieve  sieve
	kept   []driver.Settlement // released at the end, or they would come again at once
	most   int                 // of kept
	again  int                 // how many of the last in a row were given up since it began
	taken  int                 // those that were asked for
	next   time.Time           // when the next may be sent
	result Redriven
}

func newRedrive(b driver.Queuer, t *topicCore, spec *redriveSpec) *redrive {
	r := &redrive{spec: spec, topic: t, b: b, most: 2 * maxAgain}
	if spec.selective(t) {
		r.most = maxPassedOver
	}
	now := time.Now()
	r.sieve = sieve{spec: spec, topic: t.name, mark: rand.Text()[:redriveMark], late: driver.StampOf(now.Add(redriveSkew))}
	r.next = now
	return r
}

// open opens what a move needs.
func (r *redrive) open(ctx context.Context) error {
	var err error
	r.out, err = openOutlet(ctx, r.b, driver.Target{Topic: r.topic.driver(), Group: r.spec.group, Topology: r.spec.topology})
	if err != nil {
		return err
	}
	return r.openDeadLetters(ctx)
}

func (r *redrive) openDeadLetters(ctx context.Context) error {
	name := r.topic.settings.deadLetterTo
	if name == "" {
		name = deadLetterName(r.topic.name, r.spec.group)
	}
	r.source = driver.Source{
		Topics: []driver.Topic{{Name: name, Role: driver.DeadLetter}}, Prefetch: r.most + redriveBatch,
		Name: r.topic.name + " redrive", Topology: r.spec.topology,
	}
	recv, err := r.b.OpenQueue(ctx, r.source)
	if err != nil {
		return err
	}
	r.recv = newSideline(recv)
	return nil
}

// room is how many more may be received at once, 0 at the limit.
func (r *redrive) room() int {
	room := redriveBatch
	if r.spec.rate > 0 {
		room = burstOf(r.spec.rate)
	}
	if r.spec.limit > 0 {
		room = min(room, r.spec.limit-r.taken)
	}
	return room
}

// run gives what comes to take, until nothing more does.
func (r *redrive) run(ctx context.Context, take func(context.Context, []*driver.Delivery) error) error {
	dst := make([]*driver.Delivery, 0, redriveBatch)
	last := time.Now() // when something came that was not given up since the beginning
	for {
		room := r.room()
		if room == 0 {
			return nil
		}
		if wait := time.Until(r.next); wait > 0 {
			if sleep(ctx, wait) != nil {
				return cutShort(ctx, nil)
			}
			last = time.Now()
		}
		waiting, stop := context.WithTimeout(ctx, redriveIdle)
		got, err := r.recv.Receive(waiting, dst[:0:room])
		idle := waiting.Err() != nil && (err == nil || errors.Is(err, context.DeadlineExceeded))
		stop()
		if len(got) > 0 {
			switch err := take(ctx, got); {
			case err != nil && ctx.Err() != nil:
				return cutShort(ctx, err)
			case err != nil:
				return err
			case r.again < len(got):
				last = time.Now()
			case r.again >= maxAgain || time.Since(last) >= redriveIdle:
				return nil
			}
			continue
		}
		switch {
		case ctx.Err() != nil:
			return cutShort(ctx, nil)
		case !idle && err != nil:
			return err
		case idle:
			switch n, why := r.left(ctx); {
			case n <= 0:
				return nil
			case time.Since(last) >= redrivePatience:
				return fmt.Errorf("%d more dead letters are there and have not come for %v%s", n, redrivePatience, why)
			}
		}
	}
}

// cutShort says that the context ended, in place of what became of the copies in hand, which stay where they are: but for those
// of which nobody knows.
func cutShort(ctx context.Context, err error) error {
	cause := fmt.Errorf("its context ended: %w", context.Cause(ctx))
	if errors.Is(err, ErrUnconfirmed) {
		return fmt.Errorf("%w; what was in hand stays, and a copy of it may be there already: %w", cause, err)
	}
	return cause
}

// left is how many dead letters are ready though none came, which a receiver that has just joined need not have, and why as the
// receiver says it. It is 0 where the broker does not tell.
func (r *redrive) left(ctx context.Context) (n int64, why string) {
	d, err := depthOf(ctx, r.b, r.source)
	if err != nil {
		return 0, "" // what is wrong with the broker the receiver says
	}
	if w, ok := r.recv.Receiver.(driver.Waiter); ok {
		if text := w.Waiting(); text != "" {
			why = ": " + text
		}
	}
	return d.Ready, why
}

// choose returns those of got that were asked for. The others are kept.
func (r *redrive) choose(got []*driver.Delivery) []*driver.Delivery {
	chosen := got[:0]
	for _, d := range got {
		p := r.sieve.pick(d)
		if p == pickAgain {
			r.again++
		} else {
			r.again = 0
		}
		if p == pickTaken {
			chosen = append(chosen, d)
			continue
		}
		r.keep(d)
		r.result.Passed++
	}
	r.taken += len(chosen)
	return chosen
}

func (r *redrive) keep(d *driver.Delivery) {
	r.kept = append(r.kept, driver.Settlement{Delivery: d})
}

func (r *redrive) tooMany() error {
	switch {
	case len(r.kept) <= r.most:
		return nil
	case r.out == nil:
		return fmt.Errorf("more than %d dead letters are there, and it holds no more: set a limit (RedriveLimit)", r.most)
	case r.spec.selective(r.topic):
		return fmt.Errorf("more than %d dead letters are passed over, and it sees nothing behind them: redrive those first", r.most)
	default:
		return fmt.Errorf("more than %d dead letters were given up again since it began: mend what they failed of first", r.most)
	}
}

// move sends what was asked for and settles what was confirmed.
func (r *redrive) move(ctx context.Context, got []*driver.Delivery) error {
	chosen := r.choose(got)
	if err := r.tooMany(); len(chosen) == 0 || err != nil {
		return err
	}
	r.pace(len(chosen))
	recs := make([]driver.Record, len(chosen))
	for i, d := range chosen {
		recs[i] = recordOf(d)
		recs[i].Control = driver.Control{
			Published: d.Control.Published, Redriven: true,
			Failure: &driver.Failure{Redrives: withMark(marksOf(d), r.sieve.mark)},
		}
	}
	sendErr := r.out.deliver(ctx, recs)
	var confirmed []driver.Settlement
	for i, d := range chosen {
		if driver.EntryError(sendErr, i) == nil {
			confirmed = append(confirmed, driver.Settlement{Delivery: d, Verdict: driver.Done})
		}
	}
	r.result.Moved += len(confirmed)
	if len(confirmed) == 0 {
		return sendErr
	}
	settling, stop := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer stop()
	return errors.Join(sendErr, r.recv.Settle(settling, confirmed))
}

// burstOf is how many may be sent at once at a rate: few, so that they go evenly.
func burstOf(rate int) int { return min(max(rate/32, 1), redriveBatch) }

// pace notes that n are sent now. In the second that begins with one burst, what follows comes to less than the rate without
// another burst, and with the last one to no more than the rate.
func (r *redrive) pace(n int) {
	if r.spec.rate == 0 {
		return
	}
	evenly := time.Duration(r.spec.rate - burstOf(r.spec.rate) + 1)
	r.next = time.Now().Add((time.Duration(n)*time.Second + evenly - 1) / evenly)
}

// end gives back what was kept, closes and makes the error of the whole.
func (r *redrive) end(ctx context.Context, op string, err error) error {
	if err != nil && r.result.Moved > 0 {
		err = fmt.Errorf("after %d that were moved: %w", r.result.Moved, err)
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer stop()
	if err = errors.Join(err, r.close(closing)); err != nil {
		return &Error{Op: op, Topic: r.topic.name, Err: err}
	}
	return nil
}

func (r *redrive) close(ctx context.Context) error {
	var errs []error
	if r.recv != nil {
		if len(r.kept) > 0 {
			errs = append(errs, r.recv.Settle(ctx, r.kept))
		}
		errs = append(errs, r.recv.Close(ctx))
	}
	if r.out != nil {
		errs = append(errs, r.out.close(ctx))
	}
	return errors.Join(errs...)
}
