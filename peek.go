package wherry

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// PeekDeadLetters returns an iterator over the dead letters of t, and moves nothing. It shows each once, in the order in which
// a [Redrive] with these options would move them, and only those: all of them without options. [RedriveRate] does not fit.
//
// What it has come to it holds until the loop ends, and nobody else gets it meanwhile; then all goes back as it was. So it
// ends, with an error, when it holds more than 10,000; with [RedriveLimit] it looks no further than that many. It ends as
// Redrive does, and an error, also that of a ctx that ended, comes once, with a nil message. The iterator may be used again,
// and looks anew.
//
// A message is valid until the loop asks for the next, and its Consumer is nil. Looking costs a dead letter nothing: a
// consumer of dead letters gives none up for having been delivered often, see [MaxDelivered].
func PeekDeadLetters[T any](
	ctx context.Context, b driver.Queuer, t TopicOf[T], opts ...RedriveOption,
) iter.Seq2[*Message[DeadLetter[T]], error] {
	return func(yield func(*Message[DeadLetter[T]], error) bool) {
		const op = "peek"
		rateless := redriveOption(func(s *redriveSpec) {
			if s.rate != 0 {
				s.failf("a rate does not fit a look, which moves nothing")
			}
		})
		topic, spec, err := redriveOf(op, b, t, append(slices.Clip(opts), rateless))
		if err != nil {
			yield(nil, err)
			return
		}
		r := newRedrive(b, topic, spec)
		r.most = maxPassedOver
		if spec.limit > 0 && !spec.selective(topic) {
			r.most = min(spec.limit, maxPassedOver)
		}
		shown := false // to the end, or to where the loop had enough
		defer func() {
			if !shown { // the loop panicked
				_ = r.end(ctx, op, nil)
			}
		}()
		enough := false
		if err = r.openDeadLetters(ctx); err == nil {
			err = r.run(ctx, showing(r, deadLetters(t, spec.group).spec, func(m *Message[DeadLetter[T]]) bool {
				enough = !yield(m, nil)
				return !enough
			}))
		}
		shown = true
		if err = r.end(ctx, op, err); err != nil && !enough {
			yield(nil, err)
		}
	}
}

var errEnough = errors.New("the loop has seen enough")

// showing returns what shows the dead letters that were asked for, and keeps all.
func showing[T any](r *redrive, t *topicSpec[T], show func(*Message[T]) bool) func(context.Context, []*driver.Delivery) error {
	decode := bindDecode(t.codec)
	m := &Message[T]{codec: t.codec}
	return func(_ context.Context, got []*driver.Delivery) error {
		chosen := r.choose(got)
		for _, d := range chosen {
			r.keep(d)
		}
		for _, d := range chosen {
			m.d = d
			if err := decode(d, &m.Value); err != nil {
				return err
			}
			if !show(m) {
				return errEnough
			}
		}
		return r.tooMany()
	}
}
