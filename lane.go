package wherry

import (
	"bytes"
	"errors"
	"runtime"
	"strconv"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A lane is a goroutine that handles one delivery, or one batch, at a time. Everything it needs per message it has from
// its start.
type lane struct {
	w         *worker
	one       laneFunc
	ctx       *lazyContext
	wake      chan struct{} // cap 1
	goroutine int64         // for its stack
	event     Handled       // used again for each message
	bulk      *bulk         // of batches, nil for single messages
	spec      *consumeSpec
	timeout   driver.Stamp // of a handler call; 0 is none
	tells     bool         // somebody listens to events
	decoding  bool         // a panic now is the codec's
	bunch     bunch
	sample    sample

	// That of the delivery in hand, where there are keys, and of the first of a bunch; written under the worker's lock, by the
	// lane or by whoever ends its bunch.
	key *seqNode

	// Guarded by the worker's lock.
	current *driver.Delivery
	started driver.Stamp // when its handler started; 0 when it has none
	overran bool         // its timeout was reported
	lost    bool         // what it has in hand was revoked, or some of its batch
}

func newLane(w *worker) *lane {
	c := w.r.c
	l := &lane{w: w, wake: make(chan struct{}, 1), spec: &c.spec, tells: w.r.listening()}
	if t := c.spec.timeout; t != never {
		l.timeout = driver.Stamp(min(t, longestTimeout))
	}
	if c.newBulk != nil {
		l.bulk = newBulk(l)
	} else {
		l.one = c.newLane(c)
	}
	return l
}

// hold notes what the lane has in hand, and readies its context for one message; for a batch it is readied when the batch
// is collected. The worker's lock is held, since whoever revokes a delivery looks at both.
func (l *lane) hold(d *driver.Delivery, now driver.Stamp) {
	if l.bulk != nil {
		l.bulk.held = append(l.bulk.held, d)
		return
	}
	l.current = d
	l.begin(now)
}

// begin readies the lane for its next handler call. A context that somebody touched is theirs for good.
func (l *lane) begin(now driver.Stamp) {
	l.started = now
	if l.ctx == nil || l.ctx.touched.Load() {
		l.ctx = l.freshContext()
	}
	if l.timeout > 0 {
		l.ctx.deadline = now + l.timeout
	}
}

func (l *lane) freshContext() *lazyContext {
	return &lazyContext{base: l.w.hand, cause: ErrHandlerTimeout, clock: &l.w.r.clock}
}

// longestTimeout keeps the sum of a moment and a timeout in range. It is 73 years.
const longestTimeout = time.Duration(1 << 61)

// release notes that the lane has nothing in hand. The worker's lock is held.
func (l *lane) release() {
	l.current, l.started, l.overran, l.lost = nil, 0, false, false
	if l.bulk != nil {
		l.bulk.held = l.bulk.held[:0]
		clear(l.bulk.lost)
	}
}

// heldLocked is what the lane has in hand.
func (l *lane) heldLocked() []*driver.Delivery {
	switch {
	case l.bulk != nil:
		return l.bulk.held
	case l.current != nil:
		return []*driver.Delivery{l.current}
	default:
		return nil
	}
}

func (l *lane) busyLocked() bool { return l.started != 0 }

// loop handles until the worker stops. A panic costs one round: the recovery stands around many messages, not around
// each. done is called at the end, whichever goroutine that is.
func (l *lane) loop(s driver.Settlement, done func()) {
	l.setGoroutine()
	for {
		ended := false
		func() {
			defer func() {
				if ended {
					return
				}
				v := recover()
				s = l.broken(v)
				if v == nil { // Goexit goes on after this: nothing below is reached
					go l.loop(s, done)
				}
			}()
			l.round(s)
			ended = true
		}()
		if ended {
			done()
			return
		}
	}
}

func (l *lane) setGoroutine() {
	id := goroutineID()
	l.w.mu.Lock()
	l.goroutine = id
	l.w.mu.Unlock()
}

// round handles until the worker stops, or a handler panics. s is the settlement of the message before.
func (l *lane) round(s driver.Settlement) {
	if l.bulk != nil {
		l.rounds()
		return
	}
	d := l.w.next(l, s)
	for d != nil {
		var o Outcome
		if why := refuse(l.spec, d); why == 0 || why == refusedAbandoned && l.spares() {
			o = l.one(l, d)
			if l.ctx.touched.Load() {
				l.ctx.end(ErrReturned)
			}
			if l.tells {
				l.tell(d, o)
			}
		} else {
			o = refused(l.spec, d, why)
		}
		if o.kind == KindAck {
			d = l.following(d)
		} else {
			d = l.w.next(l, l.conclude(d, o))
		}
	}
}

// conclude is what the lane's next call settles: nothing, when the outcome moves the message.
func (l *lane) conclude(d *driver.Delivery, o Outcome) driver.Settlement {
	if l.w.seq != nil {
		l.recall()
		return l.w.seq.conclude(l, d, o)
	}
	s, m := l.w.decide(l, d, o)
	if m != nil {
		l.w.handOver(l, nil, []*move{m})
	}
	return s
}

// tell emits the event of a handled message.
func (l *lane) tell(d *driver.Delivery, o Outcome) {
	r := l.w.r
	now := r.clock.now()
	e := &l.event
	*e = Handled{
		Origin: r.origin, ID: d.ID.String(), Attempt: attemptOf(d), Outcome: o,
		Took: max(time.Duration(now-l.started), 0), // the two may be readings of different age
	}
	if p := d.Control.Published; p != 0 {
		e.Age = r.clock.since(p, now)
	}
	r.emit(e)
}

// broken is the settlement of a message whose handler panicked, or ended its goroutine as testing.T.FailNow does. v is
// what was recovered; nil is the latter, and then this goroutine ends and another takes over the lane. Of a batch only the
// latter comes here, and what it had not set is retried.
func (l *lane) broken(v any) driver.Settlement {
	l.w.mu.Lock()
	l.w.recallLocked(l)
	held := append([]*driver.Delivery(nil), l.heldLocked()...)
	l.w.mu.Unlock()
	if len(held) == 0 {
		panic(v) //nolint:forbidigo // Not a handler's: a fault of the engine is not to be hidden.
	}
	l.ctx.end(ErrReturned)
	o := l.outcomeOfPanic(v, held[0])
	if l.bulk != nil {
		l.settleBatch(held, l.unfinished(held, o), o)
		return driver.Settlement{}
	}
	d := l.shownOf(held[0])
	if l.w.r.listening() {
		l.tell(d, o)
	}
	return l.conclude(d, o)
}

// outcomeOfPanic is a retry, or where the codec panicked, which has then refused the body, a reject.
func (l *lane) outcomeOfPanic(v any, d *driver.Delivery) Outcome {
	decoding := l.decoding
	l.decoding = false
	if decoding && v != nil {
		return undecodable(d, codecPanic(v))
	}
	return Retry(l.panicked(v, d.ID.String()))
}

var errGoexit = errors.New("handler ended its goroutine (runtime.Goexit)")

// panicked reports a panic and returns it as an error. It is called while the stack of the panic stands.
func (l *lane) panicked(v any, id string) error {
	if v == nil {
		v = errGoexit
	}
	err := newPanicError(v)
	l.w.r.emit(&Panicked{Origin: l.w.r.origin, ID: id, Value: v, Stack: err.Stack})
	return err
}

// goroutineID is the number that stack dumps give the calling goroutine.
func goroutineID() int64 {
	var buf [64]byte
	fields := bytes.Fields(buf[:runtime.Stack(buf[:], false)])
	if len(fields) < 2 {
		return 0
	}
	id, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// mostStacks is how many stacks are looked for at once: where very many handlers hang, they hang alike.
const mostStacks = 8

// stacksOf are the stacks of the first few of some goroutines, without those that are gone. It stops the world once, however many
// they are, and no lock is to be held meanwhile.
func stacksOf(ids []int64) map[int64]string {
	const most = 1 << 20
	ids = ids[:min(len(ids), mostStacks)]
	if len(ids) == 0 {
		return nil
	}
	heads := make(map[int64][]byte, len(ids))
	for _, id := range ids {
		heads[id] = []byte("goroutine " + strconv.FormatInt(id, 10) + " [")
	}
	stacks := make(map[int64]string, len(ids))
	buf := make([]byte, most)
	for block := range bytes.SplitSeq(buf[:runtime.Stack(buf, true)], []byte("\n\n")) {
		for id, head := range heads {
			if bytes.HasPrefix(block, head) {
				stacks[id] = string(block)
			}
		}
	}
	return stacks
}

// stackOf is the stack of a goroutine, empty when it is gone.
func stackOf(id int64) string { return stacksOf([]int64{id})[id] }

// lose ends the context of a handler whose delivery was revoked, or one of its batch. The worker's lock is held.
func (l *lane) lose(d *driver.Delivery) {
	l.lost = true
	if l.bulk != nil {
		l.bulk.lose(d)
	}
	l.ctx.revoke(ErrRevoked)
}
