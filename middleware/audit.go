package middleware

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/errtext"
)

// An AuditRecord says what one attempt at a message came to. It holds no body and no headers. It owns its memory.
type AuditRecord struct {
	ID       string `json:"id"`
	Topic    string `json:"topic"`
	Group    string `json:"group,omitempty"` // empty in a queue
	Key      []byte `json:"key,omitempty"`
	Consumer string `json:"consumer"`
	Attempt  int    `json:"attempt"`
	// Outcome is "ack", "retry", "defer" or "reject", or "panic" of a handler that panicked, whose message is retried.
	Outcome string `json:"outcome"`
	// Error is the text of a retry's or a reject's error, cut at 1 KiB.
	Error string `json:"error,omitempty"`
	// Start is when the attempt began, and Took how long it was. In a batch both are the batch's.
	Start time.Time     `json:"start"`
	Took  time.Duration `json:"took_ns"`
}

// An AuditSink keeps records. It is called by many goroutines.
type AuditSink interface {
	// Record keeps the records of one handler call, which are the sink's from now on: one record, or those of a batch. It
	// may block until ctx ends. An error that wraps a [*wherry.BatchError] says which records were not kept; any other
	// says that none was.
	Record(ctx context.Context, records []AuditRecord) error
}

// AuditFunc is a function as an [AuditSink].
type AuditFunc func(ctx context.Context, records []AuditRecord) error

// Record calls f.
func (f AuditFunc) Record(ctx context.Context, records []AuditRecord) error { return f(ctx, records) }

// AuditTo is a sink that publishes each record. The publisher stays the caller's and must be open while the consumer runs.
// A nil publisher is an error where the sink is used. A consumer of the audit topic must not be audited to it as well.
func AuditTo(p *wherry.Publisher[AuditRecord]) AuditSink {
	if p == nil {
		return nil
	}
	return AuditFunc(func(ctx context.Context, records []AuditRecord) error {
		return p.PublishAll(ctx, func(yield func(*AuditRecord) bool) {
			for i := range records {
				if !yield(&records[i]) {
					return
				}
			}
		})
	})
}

// AuditConfig says how [Audit] treats its sink. Fields that are zero take their defaults.
type AuditConfig struct {
	// Ignore makes the audit a best effort: it is called with the sink's error, and what the handler said stands. It must
	// be safe for concurrent use. When it is nil the audit is complete: a message that would end (acknowledged or
	// rejected) and whose record the sink did not keep is retried, so that its handler runs again.
	Ignore func(err error)
	// Timeout bounds a call of the sink. Default 5 s.
	Timeout time.Duration
}

const (
	defaultAuditTimeout = 5 * time.Second
	maxAuditError       = 1 << 10
)

// Audit gives s a record of each attempt, after the handler returned and before the message is settled, with a deadline
// that is not the handler's. What an attempt came to is what this middleware sees: list it first to see what others make
// of it. The lane waits for the sink. A nil sink is an error at start.
//
// List it after [Dedup], unless there is an Ignore: what is retried because it was not recorded would else be taken for a
// duplicate of what was handled, and never recorded as that. What Dedup keeps from the handler has then no record.
func Audit(s AuditSink, c AuditConfig) wherry.ConsumerOption {
	var bad mistakes
	if f, ok := s.(AuditFunc); s == nil || ok && f == nil {
		bad.addf("the sink is nil")
	}
	positive(&bad, "Timeout", c.Timeout)
	if len(bad) > 0 {
		return bad.invalid("audit")
	}
	orElse(&c.Timeout, defaultAuditTimeout)
	a := &audit{sink: s, cfg: c}
	return use(a.lane, a.batchLane)
}

type audit struct {
	sink AuditSink
	cfg  AuditConfig
}

func (a *audit) lane(next wherry.Next) wherry.Next {
	return func(ctx context.Context, m wherry.AnyMessage) (o wherry.Outcome) {
		start := time.Now()
		returned := false
		defer func() {
			r := auditRecord(m, o, returned, start, time.Since(start))
			if err := a.record(ctx, []AuditRecord{r}); err != nil && ends(o) {
				o = unrecorded(err)
			}
		}()
		o = next(ctx, m)
		returned = true
		return o
	}
}

func (a *audit) batchLane(next wherry.BatchNext) wherry.BatchNext {
	return func(ctx context.Context, b wherry.AnyBatch) (rest wherry.Outcome) {
		start := time.Now()
		returned := false
		defer func() {
			took := time.Since(start)
			rs := make([]AuditRecord, b.Len())
			for i := range rs {
				_, set := b.Outcome(i)
				rs[i] = auditRecord(b.At(i), outcomeAt(b, i, rest), set || returned, start, took)
			}
			err := a.record(ctx, rs)
			for i := range rs {
				if one := driver.EntryError(err, i); one != nil && ends(outcomeAt(b, i, rest)) {
					b.Set(i, unrecorded(one))
				}
			}
		}()
		rest = next(ctx, b)
		returned = true
		return rest
	}
}

// record gives records to the sink. It returns what the messages must be retried for.
func (a *audit) record(ctx context.Context, rs []AuditRecord) error {
	if len(rs) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.Timeout)
	defer stop()
	err := a.sink.Record(ctx, rs)
	if err != nil && a.cfg.Ignore != nil {
		a.cfg.Ignore(fmt.Errorf("middleware: audit: %w", err))
		return nil
	}
	return err
}

// ends reports whether an outcome is the last word on its message.
func ends(o wherry.Outcome) bool { return o.Kind() == wherry.KindAck || o.Kind() == wherry.KindReject }

func unrecorded(err error) wherry.Outcome {
	return wherry.Retry(fmt.Errorf("middleware: audit: not recorded: %w", err))
}

func auditRecord(m wherry.AnyMessage, o wherry.Outcome, returned bool, start time.Time, took time.Duration) AuditRecord {
	r := AuditRecord{
		ID: m.ID(), Topic: m.Topic(), Group: m.Group(), Key: slices.Clone(m.Key()), Consumer: m.Consumer().Name(),
		Attempt: m.Attempt(), Outcome: o.Kind().String(), Start: start, Took: took,
	}
	if !returned {
		r.Outcome = "panic"
	}
	if err := o.Err(); err != nil {
		r.Error = cut(errtext.Of(err), maxAuditError)
	}
	return r
}

// cut is s without what is over most bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
