package middleware

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/errtext"
)

// Log writes a line for each message: its id, attempt, outcome and time, and the error of one that failed. Messages that
// were acknowledged or deferred have the given level, retries are warnings, rejects and panics are errors. A line never
// holds the body, the headers or the key. Of a batch there is one line, with the number of each outcome, the first error,
// and the level of the worst.
//
// What a lane always says (consumer, topic, group) is set in the logger once. A message whose level is not enabled costs no
// allocation; one whose logger is off altogether not even a look at the clock. Use [wherry.LogTo] for what happens to the
// consumer beside its messages. A nil logger is an error at start.
func Log(l *slog.Logger, level slog.Level) wherry.ConsumerOption {
	if l == nil {
		m := mistakes{errors.New("the logger is nil")}
		return m.invalid("log")
	}
	g := logging{logger: l, level: level, worst: max(level, slog.LevelError)}
	return use(g.lane, g.batchLane)
}

type logging struct {
	logger *slog.Logger
	level  slog.Level
	worst  slog.Level // no line has a higher one
}

func (g logging) lane(next wherry.Next) wherry.Next {
	var ll laneLogger
	return func(ctx context.Context, m wherry.AnyMessage) (o wherry.Outcome) {
		if !g.logger.Enabled(ctx, g.worst) {
			return next(ctx, m)
		}
		start := time.Now()
		returned := false
		defer func() { g.message(ctx, &ll, m, o, start, returned) }()
		o = next(ctx, m)
		returned = true
		return o
	}
}

func (g logging) batchLane(next wherry.BatchNext) wherry.BatchNext {
	var ll laneLogger
	return func(ctx context.Context, b wherry.AnyBatch) (rest wherry.Outcome) {
		if !g.logger.Enabled(ctx, g.worst) || b.Len() == 0 {
			return next(ctx, b)
		}
		start := time.Now()
		returned := false
		defer func() { g.batch(ctx, &ll, b, rest, start, returned) }()
		rest = next(ctx, b)
		returned = true
		return rest
	}
}

func (g logging) message(
	ctx context.Context, ll *laneLogger, m wherry.AnyMessage, o wherry.Outcome, start time.Time, returned bool,
) {
	level, outcome := g.levelOf(o.Kind()), o.Kind().String()
	if !returned {
		level, outcome = slog.LevelError, "panic"
	}
	if !g.logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 5)
	attrs = append(attrs,
		slog.String("id", m.ID()), slog.Int("attempt", m.Attempt()),
		slog.String("outcome", outcome), slog.Duration("took", time.Since(start)))
	if err := o.Err(); err != nil {
		attrs = append(attrs, slog.String("error", errtext.Of(err)))
	}
	ll.of(g.logger, m).LogAttrs(ctx, level, "message", attrs...)
}

func (g logging) batch(
	ctx context.Context, ll *laneLogger, b wherry.AnyBatch, rest wherry.Outcome, start time.Time, returned bool,
) {
	level := g.level
	var counts [4]int // by kind
	var first error
	for i := range b.Len() {
		o := outcomeAt(b, i, rest)
		counts[o.Kind()]++
		level = max(level, g.levelOf(o.Kind()))
		if first == nil {
			first = o.Err()
		}
	}
	if !returned {
		level = max(level, slog.LevelError)
	}
	if !g.logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs, slog.Int("messages", b.Len()))
	for _, k := range []wherry.OutcomeKind{wherry.KindAck, wherry.KindRetry, wherry.KindDefer, wherry.KindReject} {
		if counts[k] > 0 {
			attrs = append(attrs, slog.Int(k.String(), counts[k]))
		}
	}
	attrs = append(attrs, slog.Duration("took", time.Since(start)))
	if !returned {
		attrs = append(attrs, slog.Bool("panic", true))
	}
	if first != nil {
		attrs = append(attrs, slog.String("error", errtext.Of(first)))
	}
	ll.of(g.logger, b.At(0)).LogAttrs(ctx, level, "batch", attrs...)
}

func (g logging) levelOf(k wherry.OutcomeKind) slog.Level {
	switch k {
	case wherry.KindRetry:
		return slog.LevelWarn
	case wherry.KindReject:
		return slog.LevelError
	default:
		return g.level
	}
}

// laneLogger is a logger that has what a lane always says, from the first line on. One lane uses it.
type laneLogger struct {
	topic  string
	logger *slog.Logger
}

func (ll *laneLogger) of(l *slog.Logger, m wherry.AnyMessage) *slog.Logger {
	if ll.logger != nil && ll.topic == m.Topic() {
		return ll.logger
	}
	attrs := []any{slog.String("consumer", m.Consumer().Name()), slog.String("topic", m.Topic())}
	if group := m.Group(); group != "" {
		attrs = append(attrs, slog.String("group", group))
	}
	ll.topic, ll.logger = m.Topic(), l.With(attrs...)
	return ll.logger
}
