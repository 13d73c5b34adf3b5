package wherry

import (
	"log/slog"

	"github.com/wherryhq/wherry/internal/errtext"
)

func (e *Started) text() string      { return "consumer started" }
func (e *Stopped) text() string      { return "consumer stopped" }
func (e *Handled) text() string      { return "message handled" }
func (e *Retried) text() string      { return "message will be retried" }
func (e *Deferred) text() string     { return "message deferred" }
func (e *DeadLettered) text() string { return "message dead-lettered" }
func (e *Dropped) text() string      { return "message dropped" }
func (e *Released) text() string     { return "messages released" }
func (e *MoveBlocked) text() string  { return "copy refused, original kept" }
func (e *SettleFailed) text() string { return "settlement failed" }
func (e *ExtendFailed) text() string { return "leases not extended" }
func (e *CloseFailed) text() string  { return "not closed in order" }
func (e *Committed) text() string    { return "transaction committed" }
func (e *CommitFailed) text() string { return "transaction failed" }
func (e *BrokerAway) text() string   { return "broker away" }
func (e *BrokerBack) text() string   { return "broker back" }
func (e *Scaled) text() string       { return "consumer scaled" }
func (e *WorkerLost) text() string   { return "worker lost" }
func (e *WorkerBack) text() string   { return "workers complete" }
func (e *HoldLost) text() string     { return "hold topic lost" }
func (e *HoldBack) text() string     { return "hold topic back" }
func (e *Overran) text() string      { return "handler overran its timeout" }
func (e *Panicked) text() string     { return "handler panicked" }
func (e *Stalled) text() string      { return "consumer stalled" }
func (e *Recovered) text() string    { return "consumer recovered" }
func (e *Paused) text() string       { return "consumer paused" }
func (e *Resumed) text() string      { return "consumer resumed" }
func (e *Revoked) text() string      { return "deliveries revoked" }
func (e *Abandoned) text() string    { return "handlers abandoned" }

func (e *Started) attrs() []slog.Attr {
	if e.Note == "" {
		return nil
	}
	return []slog.Attr{slog.String("note", e.Note)}
}

func (e *Stopped) attrs() []slog.Attr { return errAttr(nil, e.Err) }

func (e *Handled) attrs() []slog.Attr {
	return errAttr([]slog.Attr{
		slog.String("id", e.ID), slog.Int("attempt", e.Attempt), slog.String("outcome", e.Outcome.kind.String()),
		slog.Duration("took", e.Took),
	}, e.Outcome.err)
}

func (e *Retried) attrs() []slog.Attr {
	return errAttr([]slog.Attr{
		slog.String("id", e.ID), slog.Int("attempt", e.Attempt), slog.Duration("delay", e.Delay),
	}, e.Err)
}

func (e *Deferred) attrs() []slog.Attr {
	return []slog.Attr{slog.String("id", e.ID), slog.Duration("delay", e.Delay)}
}

func (e *DeadLettered) attrs() []slog.Attr {
	return errAttr([]slog.Attr{
		slog.String("id", e.ID), slog.String("reason", string(e.Reason)), slog.Int("attempts", e.Attempts),
		slog.String("to", e.To),
	}, e.Err)
}

func (e *Dropped) attrs() []slog.Attr {
	return errAttr([]slog.Attr{slog.String("id", e.ID), slog.String("reason", string(e.Reason))}, e.Err)
}

func (e *Released) attrs() []slog.Attr {
	return []slog.Attr{slog.Int("count", e.Count), slog.String("why", e.Why)}
}

func (e *MoveBlocked) attrs() []slog.Attr {
	return errAttr([]slog.Attr{slog.String("id", e.ID), slog.String("to", e.To), slog.Duration("next", e.Next)}, e.Err)
}

func (e *SettleFailed) attrs() []slog.Attr {
	return errAttr([]slog.Attr{slog.Int("count", e.Count)}, e.Err)
}

func (e *ExtendFailed) attrs() []slog.Attr {
	return errAttr([]slog.Attr{slog.Int("count", e.Count), slog.Int("lost", e.Lost)}, e.Err)
}

func (e *CloseFailed) attrs() []slog.Attr { return errAttr(nil, e.Err) }

func (e *Committed) attrs() []slog.Attr {
	return []slog.Attr{slog.Int("count", e.Count), slog.Int("sent", e.Sent)}
}

func (e *CommitFailed) attrs() []slog.Attr {
	return errAttr([]slog.Attr{slog.Int("count", e.Count), slog.Duration("next", e.Next)}, e.Err)
}

func (e *BrokerAway) attrs() []slog.Attr { return errAttr(nil, e.Err) }

func (e *BrokerBack) attrs() []slog.Attr { return []slog.Attr{slog.Duration("after", e.After)} }

func (e *Scaled) attrs() []slog.Attr {
	return []slog.Attr{slog.Int("from", e.From), slog.Int("to", e.To), slog.String("why", e.Why)}
}

func (e *WorkerLost) attrs() []slog.Attr {
	return errAttr([]slog.Attr{slog.Duration("next", e.Next)}, e.Err)
}

func (e *WorkerBack) attrs() []slog.Attr { return []slog.Attr{slog.Duration("after", e.After)} }

func (e *HoldLost) attrs() []slog.Attr {
	return errAttr([]slog.Attr{slog.String("hold", e.Hold), slog.Duration("next", e.Next)}, e.Err)
}

func (e *HoldBack) attrs() []slog.Attr {
	return []slog.Attr{slog.String("hold", e.Hold), slog.Duration("after", e.After)}
}

func (e *Overran) attrs() []slog.Attr {
	return []slog.Attr{slog.String("id", e.ID), slog.Duration("took", e.Took), slog.String("stack", e.Stack)}
}

func (e *Panicked) attrs() []slog.Attr {
	return []slog.Attr{slog.String("id", e.ID), slog.Any("value", e.Value), slog.String("stack", string(e.Stack))}
}

func (e *Stalled) attrs() []slog.Attr {
	return []slog.Attr{slog.String("cause", e.Cause), slog.Duration("for", e.For), slog.String("stack", e.Stack)}
}

func (e *Recovered) attrs() []slog.Attr { return []slog.Attr{slog.Duration("after", e.After)} }

func (e *Paused) attrs() []slog.Attr { return []slog.Attr{slog.String("why", e.Why)} }

func (e *Resumed) attrs() []slog.Attr { return []slog.Attr{slog.Duration("after", e.After)} }

func (e *Revoked) attrs() []slog.Attr {
	return []slog.Attr{slog.Int("untouched", e.Untouched), slog.Int("in_hand", e.InHand)}
}

func (e *Abandoned) attrs() []slog.Attr {
	return []slog.Attr{slog.Any("ids", e.IDs), slog.String("stack", e.Stack)}
}

func errAttr(attrs []slog.Attr, err error) []slog.Attr {
	if err == nil {
		return attrs
	}
	return append(attrs, slog.String("error", errtext.Of(err)))
}
