package wherry

import (
	"context"
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
)

// Redriven says what a [Redrive] did.
type Redriven struct {
	Moved  int // back at their origin, confirmed
	Passed int // looked at and left in the dead letters
}

// RedriveOption fits [Redrive].
type RedriveOption interface{ applyRedrive(s *redriveSpec) }

type redriveSpec struct {
	group   string
	limit   int
	reasons map[Reason]bool

	topology driver.Topology
	errs     []error
}

type redriveOption func(*redriveSpec)

func (o redriveOption) applyRedrive(s *redriveSpec) { o(s) }

// RedriveGroup redrives the dead letters of one group of a fan-out. A group that nobody knows has none to move.
func RedriveGroup(g string) RedriveOption { return redriveOption(func(s *redriveSpec) { s.group = g }) }

// RedriveLimit moves at most n dead letters.
func RedriveLimit(n int) RedriveOption {
	return redriveOption(func(s *redriveSpec) {
		if n < 1 {
			s.errs = append(s.errs, fmt.Errorf("limit is %d, want at least 1", n))
		}
		s.limit = n
	})
}

// RedriveReason moves only the dead letters with one of these reasons.
func RedriveReason(reasons ...Reason) RedriveOption {
	return redriveOption(func(s *redriveSpec) {
		if s.reasons == nil {
			s.reasons = make(map[Reason]bool)
		}
		for _, r := range reasons {
			s.reasons[r] = true
		}
	})
}

// Redrive publishes the dead letters of t back to where they failed, with the id, key, headers and body that they had and
// a fresh attempt count: to the topic, or for a group's (see [RedriveGroup]) to that group alone. What failed elsewhere, in
// a dead-letter topic that is shared, is passed over. It ends when the dead-letter topic is empty, at the limit, or when ctx
// ends. Each copy is confirmed before its dead letter is settled, so that a redrive that is cut short and run again loses
// nothing, and may repeat what it had in hand.
func Redrive[T any](ctx context.Context, b driver.Queuer, t TopicOf[T], opts ...RedriveOption) (Redriven, error) {
	var spec redriveSpec
	for _, o := range opts {
		if o == nil {
			spec.errs = append(spec.errs, errors.New("a redrive option is nil"))
			continue
		}
		o.applyRedrive(&spec)
	}
	s := newSource(t, nil)
	topic := s.spec.topic
	if isNil(b) {
		s.spec.failf("the broker is nil")
	}
	if topic.fanout && spec.group == "" {
		s.spec.failf("the topic is a fan-out, whose groups have dead letters each: name one with RedriveGroup")
	}
	if !topic.fanout && spec.group != "" {
		s.spec.failf("the topic is a queue and has no groups")
	}
	if err := errors.Join(s.spec.err(), errors.Join(spec.errs...)); err != nil {
		return Redriven{}, mistakes("redrive", topic.name, err)
	}
	r, err := openRedrive(ctx, b, topic, spec)
	if err == nil {
		err = r.run(ctx)
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer stop()
	err = errors.Join(err, r.close(closing))
	if err != nil {
		return r.result, &Error{Op: "redrive", Topic: topic.name, Err: err}
	}
	return r.result, nil
}

type redrive struct {
	spec   redriveSpec
	topic  string
	b      driver.Queuer
	source driver.Source
	recv   *sideline
	out    *outlet
	passed []driver.Settlement // released at the end, or they would come again at once
	result Redriven
}

func openRedrive(ctx context.Context, b driver.Queuer, t *topicCore, spec redriveSpec) (*redrive, error) {
	r := &redrive{spec: spec, topic: t.name, b: b}
	name := t.settings.deadLetterTo
	if name == "" {
		name = deadLetterName(t.name, spec.group)
	}
	var err error
	r.out, err = openOutlet(ctx, b, driver.Target{Topic: t.driver(), Group: spec.group, Topology: spec.topology})
	if err != nil {
		return r, err
	}
	r.source = driver.Source{
		Topics: []driver.Topic{{Name: name, Role: driver.DeadLetter}}, Prefetch: r.credit(t), Name: t.name + " redrive",
		Topology: spec.topology,
	}
	recv, err := b.OpenQueue(ctx, r.source)
	if err != nil {
		return r, err
	}
	r.recv = newSideline(recv)
	return r, nil
}

// credit is how many dead letters may be unsettled: those of a batch, and those that are passed over, where there may be any.
func (r *redrive) credit(t *topicCore) int {
	if r.spec.reasons == nil && t.settings.deadLetterTo == "" {
		return redriveBatch
	}
	return maxPassedOver + redriveBatch
}

func (r *redrive) run(ctx context.Context) error {
	dst := make([]*driver.Delivery, 0, redriveBatch)
	last := time.Now()
	for {
		room := redriveBatch
		if r.spec.limit > 0 {
			room = min(room, r.spec.limit-r.result.Moved)
		}
		if room == 0 {
			return nil
		}
		waiting, stop := context.WithTimeout(ctx, redriveIdle)
		got, err := r.recv.Receive(waiting, dst[:0:room])
		idle := waiting.Err() != nil && (err == nil || errors.Is(err, context.DeadlineExceeded))
		stop()
		if len(got) > 0 {
			if err := r.move(ctx, got); err != nil {
				return err
			}
			last = time.Now()
			continue
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
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

// move sends what was asked for and settles what was confirmed.
func (r *redrive) move(ctx context.Context, got []*driver.Delivery) error {
	var recs []driver.Record
	var done []driver.Settlement
	for _, d := range got {
		if !r.wants(deadLetterInfo(d)) {
			r.passed = append(r.passed, driver.Settlement{Delivery: d})
			r.result.Passed++
			continue
		}
		rec := recordOf(d)
		rec.Control = driver.Control{Published: d.Control.Published, Redriven: true}
		recs = append(recs, rec)
		done = append(done, driver.Settlement{Delivery: d, Verdict: driver.Done})
	}
	if len(r.passed) > maxPassedOver {
		return fmt.Errorf("more than %d dead letters have other reasons; redrive those first", maxPassedOver)
	}
	if len(recs) == 0 {
		return nil
	}
	sendErr := r.out.deliver(ctx, recs)
	confirmed := done[:0]
	for i, s := range done {
		if driver.EntryError(sendErr, i) == nil {
			confirmed = append(confirmed, s)
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

// wants reports whether a dead letter was asked for. Several topics and groups may share a dead-letter topic; one that says
// nothing of itself belongs to whoever asks.
func (r *redrive) wants(i DeadLetterInfo) bool {
	if i.Topic != "" && (i.Topic != r.topic || i.Group != r.spec.group) {
		return false
	}
	return r.spec.reasons == nil || r.spec.reasons[i.Reason]
}

func (r *redrive) close(ctx context.Context) error {
	var errs []error
	if r.recv != nil {
		if len(r.passed) > 0 {
			errs = append(errs, r.recv.Settle(ctx, r.passed))
		}
		errs = append(errs, r.recv.Close(ctx))
	}
	if r.out != nil {
		errs = append(errs, r.out.close(ctx))
	}
	return errors.Join(errs...)
}
