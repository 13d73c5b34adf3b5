package wherry

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/errtext"
)

const (
	// maxDeferred is how long a message may be deferred in all.
	maxDeferred = 24 * time.Hour
	// minDefer is the shortest that it is deferred at a time, or one that is not ready would go round without a pause.
	minDefer = 100 * time.Millisecond
)

// decide turns an outcome into a settlement, or for one that moves the message (retry, defer, dead letter) into a move:
// its settlement follows once the copy is confirmed.
func (w *worker) decide(l *lane, d *driver.Delivery, o Outcome) (driver.Settlement, *move) {
	if o.kind == KindAck {
		return driver.Settlement{Delivery: d, Verdict: driver.Done}, nil
	}
	if w.lost(l, d) {
		// Another consumer has the message: a copy of ours would make two of it.
		return driver.Settlement{Delivery: d}, nil
	}
	if w.tx.crowded(d) {
		return driver.Settlement{Delivery: d}, nil
	}
	switch o.kind {
	case KindReject:
		return w.giveUp(d, reasonOf(o.err), o.err, attemptOf(d))
	case KindDefer:
		return w.putOff(d, o)
	case kindHop:
		rec := recordOf(d)
		rec.Due, rec.Control.Hold = d.Control.Hold.Due, nil
		return driver.Settlement{}, &move{d: d, rec: rec, out: w.r.retries}
	default:
		if w.cut(l) {
			// Another of its batch was lost, and the context ended for all of them: that it failed says nothing about this one.
			return driver.Settlement{Delivery: d}, nil
		}
		return w.tryAgain(d, o)
	}
}

// lost reports whether a delivery in the lane's hands is no longer the worker's: revoked, or abandoned with its handler.
func (w *worker) lost(l *lane, d *driver.Delivery) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.late || l.lost && (l.bulk == nil || l.bulk.lost[d])
}

// cut reports whether the context of a batch has ended since some of it was lost.
func (w *worker) cut(l *lane) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return l.bulk != nil && l.lost
}

// tryAgain is the retry ladder.
func (w *worker) tryAgain(d *driver.Delivery, o Outcome) (driver.Settlement, *move) {
	if w.r.draining.Load() {
		// Its context ended under it: that it failed says nothing about the message.
		return driver.Settlement{Delivery: d}, nil
	}
	attempt := attemptOf(d)
	policy := w.r.c.spec.retry.forError(o.err)
	if attempt >= policy.MaxAttempts {
		return w.giveUp(d, ReasonExhausted, o.err, attempt)
	}
	delay := o.delay
	if !o.exact {
		delay = policy.jittered(policy.delay(attempt))
	}
	now := time.Now()
	rec := recordOf(d)
	rec.Control.Attempt = attempt + 1
	if !isDeadLetter(d) { // of one, what is known stays what its consumer is there to read
		rec.Control.Failure = w.failure(d, o.err, attempt, now)
	}
	rec.Due = driver.StampOf(now).Add(delay)
	m := &move{d: d, rec: rec, out: w.r.retries}
	if w.r.listening() {
		m.event = &Retried{Origin: w.r.origin, ID: d.ID.String(), Attempt: attempt, Delay: delay, Err: o.err}
	}
	return driver.Settlement{}, m
}

// putOff is a defer.
func (w *worker) putOff(d *driver.Delivery, o Outcome) (driver.Settlement, *move) {
	delay := max(o.delay, minDefer)
	if delay > maxDeferred-d.Control.Deferred {
		return w.giveUp(d, ReasonDeferred, o.err, attemptOf(d)-1)
	}
	rec := recordOf(d)
	rec.Control.Attempt = attemptOf(d)
	rec.Control.Defers++
	rec.Control.Deferred += delay
	rec.Due = driver.StampOf(time.Now()).Add(delay)
	m := &move{d: d, rec: rec, out: w.r.retries}
	if w.r.listening() {
		m.event = &Deferred{Origin: w.r.origin, ID: d.ID.String(), Delay: delay}
	}
	return driver.Settlement{}, m
}

// giveUp sends a message to the dead letters, after the given number of failed handler calls.
func (w *worker) giveUp(d *driver.Delivery, why Reason, err error, calls int) (driver.Settlement, *move) {
	if why == ReasonUndecodable || why == ReasonTooLarge || why == ReasonAbandoned {
		calls = attemptOf(d) - 1 // the handler was not called this time
	}
	if w.r.dead == nil {
		w.r.emit(&Dropped{Origin: w.r.origin, ID: d.ID.String(), Reason: why, Err: err})
		return driver.Settlement{Delivery: d, Verdict: driver.Done}, nil
	}
	rec := recordOf(d)
	// A dead letter is a new message to whoever consumes it: what it went through stands in its failure.
	rec.Control = driver.Control{Published: d.Control.Published, Failure: w.failure(d, err, calls, time.Now())}
	rec.Control.Failure.Reason = string(why)
	m := &move{d: d, rec: rec, out: w.r.dead}
	if w.r.listening() {
		m.event = &DeadLettered{
			Origin: w.r.origin, ID: d.ID.String(), Reason: why, Attempts: calls, To: w.r.dead.target.Topic.Name, Err: err,
		}
	}
	return driver.Settlement{}, m
}

// isDeadLetter reports whether a delivery was given up before, and is now a message of a dead-letter topic.
func isDeadLetter(d *driver.Delivery) bool {
	f := d.Control.Failure
	return f != nil && f.Reason != ""
}

// failure is what is known of a message's failures with this one.
func (w *worker) failure(d *driver.Delivery, err error, calls int, now time.Time) *driver.Failure {
	f := driver.Failure{}
	if before := d.Control.Failure; before != nil {
		f = *before
	}
	f.Topic, f.Group = d.Topic, w.r.c.source.group
	f.Last, f.LastAt = errorText(err), driver.StampOf(now)
	if f.FirstAt == 0 {
		f.First, f.FirstAt = f.Last, f.LastAt
	}
	f.Attempts, f.Delivered, f.Reason = calls, d.Delivered, ""
	return &f
}

// errorText is an error's text as it travels: valid UTF-8, cut where it is long.
func errorText(err error) string {
	if err == nil {
		return "no error given"
	}
	text := errtext.Of(err)
	begin := cutText(text)
	valid := strings.ToValidUTF8(begin, "\uFFFD") // which is longer than what it stands for
	s := cutText(valid)
	if len(begin) < len(text) || len(s) < len(valid) {
		s += "…"
	}
	return s
}

// cutText is the beginning of a text, up to the end of a rune.
func cutText(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	end := maxErrorText
	for end > maxErrorText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
