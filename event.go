package wherry

import (
	"context"
	"log/slog"
	"time"
)

// An Event is something that happened to a consumer: one of the types below that embed [Origin]. Events are passed by
// pointer and belong to the engine, which uses the frequent ones again: an event function copies what it keeps. No event
// carries a body.
type Event interface {
	// Source returns which consumer it happened to.
	Source() Origin
	level() slog.Level
	attrs() []slog.Attr
	text() string
}

// Origin says which consumer an event happened to.
type Origin struct {
	Consumer string // its name
	Topic    string
	Group    string // empty in a queue
}

// Source returns o.
func (o Origin) Source() Origin { return o }

// Started is a consumer that opened everything and begins to receive.
type Started struct {
	Origin
	// Note is what may be a mistake and need not be one: that the group is none of those which the topic names, or that
	// another consumer of the same Run has the same name. It is empty where there is nothing to note.
	Note string
}

// Stopped is a consumer that returned from its Run.
type Stopped struct {
	Origin
	Err error // what Run returns
}

// Handled is a message whose handler returned, with any outcome. It is the frequent event.
type Handled struct {
	Origin
	ID      string // formatted for events only
	Attempt int
	Outcome Outcome
	// Took is how long decoding, middleware and handler took, up to 2 ms off without [ExactTime]. In a batch it is the
	// batch's.
	Took time.Duration
	// Age is how long ago the message was first published when the handler returned; 0 is unknown.
	Age time.Duration
}

// Retried is a failed message of which a copy now waits for its next attempt.
type Retried struct {
	Origin
	ID      string
	Attempt int // the one that failed
	Delay   time.Duration
	Err     error
}

// Deferred is a deferred message of which a copy now waits.
type Deferred struct {
	Origin
	ID    string
	Delay time.Duration
}

// DeadLettered is a message whose copy is in the dead letters, confirmed.
type DeadLettered struct {
	Origin
	ID       string
	Reason   Reason
	Attempts int // failed handler calls
	To       string
	Err      error
}

// Dropped is a message that was given up and lost, because the consumer has no dead letters.
type Dropped struct {
	Origin
	ID     string
	Reason Reason
	Err    error
}

// Released is messages that went back to the broker unsettled and uncounted. A sequence that stops, or whose worker is removed, tells
// it when its receiver was closed, of all that no handler has: not before do others get them. Where that close fails it is not told.
type Released struct {
	Origin
	Count int
	Why   string
}

// MoveBlocked is a copy (retry, defer, dead letter) that its destination refused. The original is kept, and the copy is
// tried again after Next.
type MoveBlocked struct {
	Origin
	ID   string
	To   string
	Err  error
	Next time.Duration
}

// SettleFailed is settlements that the broker refused, and outcomes of handlers that returned after they were abandoned. Those that
// Err says are revoked will come, or came, to another consumer; others are tried again.
type SettleFailed struct {
	Origin
	Count int
	Err   error
}

// ExtendFailed is deliveries whose leases could not be extended. Lost of them are lost: the contexts of their handlers have ended with
// [ErrRevoked], and they come again. For the others it is tried again before their leases end.
type ExtendFailed struct {
	Origin
	Count int
	Lost  int
	Err   error
}

// CloseFailed is a receiver or a sender that could not be closed in order. What was unsettled goes back to the broker when that
// notices.
type CloseFailed struct {
	Origin
	Err error
}

// Committed is a transaction that was committed.
type Committed struct {
	Origin
	Count int // messages that it settled
	Sent  int // messages that it published, retries and dead letters included
}

// CommitFailed is a transaction that was not committed, or of which it is not known: see Err. All of its messages come
// again.
type CommitFailed struct {
	Origin
	Count int // messages that it had
	Err   error
	Next  time.Duration // how long the worker waits; 0 is not
}

// BrokerAway is a consumer that cannot receive. There is one until [BrokerBack], however long it takes.
type BrokerAway struct {
	Origin
	Err error
}

// BrokerBack is a consumer that receives again.
type BrokerBack struct {
	Origin
	After time.Duration
}

// Scaled is a consumer whose number of workers changes.
type Scaled struct {
	Origin
	From, To int
	Why      string // what it was decided by
}

// WorkerLost is a worker whose receiver ended for good while the broker did not, or one that could not be opened while the
// consumer runs. The others go on, and one is opened in its place after Next. What a receiver that ended had brought comes
// again: the contexts of its handlers have ended with [ErrRevoked].
type WorkerLost struct {
	Origin
	Err  error
	Next time.Duration
}

// WorkerBack is a consumer that has all its workers again.
type WorkerBack struct {
	Origin
	After time.Duration
}

// HoldLost is a hold topic whose receiver ended for good while the broker did not, or of which another could not be opened. What
// waits there waits on, for as long as no other process moves it, and another receiver is opened after Next. There are hold topics on
// brokers that cannot delay.
type HoldLost struct {
	Origin
	Hold string // the hold topic
	Err  error
	Next time.Duration // 0 is at once
}

// HoldBack is a hold topic that is received from again.
type HoldBack struct {
	Origin
	Hold  string
	After time.Duration // how long it was not
}

// Overran is a handler that has not returned at its timeout.
type Overran struct {
	Origin
	ID    string
	Took  time.Duration // so far
	Stack string        // of the handler's goroutine, where it could be found; of eight at most that overrun at once
}

// Panicked is a handler or a middleware that panicked, of which the message is retried. Without an ID it is a scaling strategy, or
// an event function for the first time in the run.
type Panicked struct {
	Origin
	ID    string
	Value any
	Stack []byte
}

// Stalled is a consumer that made no progress for its stall time while work waits. It is not ready until [Recovered].
type Stalled struct {
	Origin
	Cause string
	Stack string // of the oldest handler, when handlers are the cause
	For   time.Duration
}

// Recovered is a stalled consumer that makes progress again.
type Recovered struct {
	Origin
	After time.Duration
}

// Paused is a consumer that was paused, or that began to run while it was. One pause that begins and ends while an event function
// still has the Paused or Resumed before is not told.
type Paused struct {
	Origin
	Why string // of all its pauses at that time
}

// Resumed is a paused consumer that goes on. There was a Paused before it, in the same run.
type Resumed struct {
	Origin
	After time.Duration // since that
}

// Revoked is deliveries that the broker took back for another consumer.
type Revoked struct {
	Origin
	Untouched int // not yet handed to a handler
	InHand    int // with a handler, which goes on
}

// Abandoned is handlers that had not returned when drain and grace were over. Their messages are left to the broker.
type Abandoned struct {
	Origin
	IDs   []string
	Stack string
}

func (e *Started) level() slog.Level      { return slog.LevelInfo }
func (e *Stopped) level() slog.Level      { return levelIf(e.Err, slog.LevelInfo, slog.LevelError) }
func (e *Handled) level() slog.Level      { return slog.LevelDebug }
func (e *Retried) level() slog.Level      { return slog.LevelDebug }
func (e *Deferred) level() slog.Level     { return slog.LevelDebug }
func (e *DeadLettered) level() slog.Level { return slog.LevelWarn }
func (e *Dropped) level() slog.Level      { return slog.LevelError }
func (e *Released) level() slog.Level     { return slog.LevelDebug }
func (e *MoveBlocked) level() slog.Level  { return slog.LevelWarn }
func (e *SettleFailed) level() slog.Level { return slog.LevelWarn }
func (e *ExtendFailed) level() slog.Level { return slog.LevelWarn }
func (e *CloseFailed) level() slog.Level  { return slog.LevelWarn }
func (e *Committed) level() slog.Level    { return slog.LevelDebug }
func (e *CommitFailed) level() slog.Level { return slog.LevelWarn }
func (e *BrokerAway) level() slog.Level   { return slog.LevelError }
func (e *BrokerBack) level() slog.Level   { return slog.LevelInfo }
func (e *Scaled) level() slog.Level       { return slog.LevelInfo }
func (e *WorkerLost) level() slog.Level   { return slog.LevelError }
func (e *WorkerBack) level() slog.Level   { return slog.LevelInfo }
func (e *HoldLost) level() slog.Level     { return slog.LevelError }
func (e *HoldBack) level() slog.Level     { return slog.LevelInfo }
func (e *Overran) level() slog.Level      { return slog.LevelWarn }
func (e *Panicked) level() slog.Level     { return slog.LevelError }
func (e *Stalled) level() slog.Level      { return slog.LevelError }
func (e *Recovered) level() slog.Level    { return slog.LevelInfo }
func (e *Paused) level() slog.Level       { return slog.LevelWarn }
func (e *Resumed) level() slog.Level      { return slog.LevelInfo }
func (e *Revoked) level() slog.Level      { return slog.LevelInfo }
func (e *Abandoned) level() slog.Level    { return slog.LevelError }

func levelIf(err error, without, with slog.Level) slog.Level {
	if err == nil {
		return without
	}
	return with
}

// logEvents is an event function that logs to l.
func logEvents(l *slog.Logger) func(Event) {
	return func(e Event) {
		if h, ok := e.(*Handled); ok && h.Outcome.kind == KindAck {
			return
		}
		ctx := context.Background()
		if !l.Enabled(ctx, e.level()) {
			return
		}
		o := e.Source()
		attrs := []slog.Attr{slog.String("consumer", o.Consumer), slog.String("topic", o.Topic)}
		if o.Group != "" {
			attrs = append(attrs, slog.String("group", o.Group))
		}
		//nolint:sloglint // Each event has a constant text.
		l.LogAttrs(ctx, e.level(), e.text(), append(attrs, e.attrs()...)...)
	}
}
