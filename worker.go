package wherry

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/pace"
)

// A worker is a receiver with its lanes. The lanes share one buffer: a lane that is done settles and takes the next
// delivery under one lock, and the lane that finds the buffer empty receives. So a slow handler holds up its own lane
// only, and no goroutine stands between the broker and the handler.
//
// At most one wake is in flight: a lane that takes a delivery and leaves others, or leaves nobody receiving, wakes one
// parked lane, which does the same. Waking all at once is what makes other engines slower with every lane. And while one
// lane is through with all that came before another would be awake, none is woken (internal/pace).
type worker struct {
	r           *running
	recv        driver.Receiver
	info        driver.Info
	credit      int
	settleBatch int
	linger      time.Duration
	extender    driver.Extender
	lanes       []*lane
	atOnce      int             // lanes that can run at the same time
	lanesDone   chan struct{}   // closed when every lane returned
	intake      context.Context //nolint:containedctx // A phase of the run: ends when nothing more is to be received.
	patience    context.Context //nolint:containedctx // Ends before the intake where batches are hurried; see running.
	quit        func()          // ends intake and patience of this worker alone
	hand        context.Context //nolint:containedctx // A phase of the run: ends when the drain time is over.
	settleBase  context.Context //nolint:containedctx // A phase of the run: ends when even settling must.
	endSettling context.CancelFunc

	mu        sync.Mutex // guards the fields below
	buf       []*driver.Delivery
	head      int
	space     [2][]*driver.Delivery // one is the buffer, the other where the next Receive appends
	turn      int
	receiving bool
	asked     driver.Stamp // when the Receive in progress began; 0 when there is none
	away      bool         // its broker does not answer
	failures  int          // of Receive, in a row
	window    int          // the most that the next Receive may bring
	full      bool         // the last Receive brought all that there was room for
	started   bool         // something was received
	first     bool         // and that was the one message of the first Receive: there may be more
	suspect   *driver.Delivery
	isolating bool // the others of a buffer are on their way back: no lane takes what stays
	waking    bool
	pace      pace.Pace
	sampleDue bool
	seen      uint64 // handled when the linger's timer was set
	starved   bool   // nobody receives because the credit is used up
	stopped   bool
	ended     bool // told to stop, and not only by the end of its intake
	done      bool // finished: nothing is flushed any more
	late      bool // handlers were abandoned: outcomes that come now are too late
	idle      []*lane
	bunched   int // lanes that have a bunch
	unsettled int
	handled   uint64

	out       *flush // decided, not yet given to the broker
	flying    []*flush
	spare     []*flush
	lingering bool
	timer     *time.Timer
	settling  sync.WaitGroup

	movers  [2]*mover
	tenures tenures
	leases  leases
	tx      *txReceiver // that recv is, of transactions; else nil
	seq     *sequencer  // in place of the buffer where what fails is kept; else nil
}

func newWorker(r *running, recv driver.Receiver) *worker {
	w := &worker{r: r, recv: recv, info: recv.Info(), lanesDone: make(chan struct{})}
	w.credit = r.c.spec.credit(w.info.Volatile)
	w.settleBatch = min(max(w.info.SettleBatch, 1), mostReceived)
	w.linger = w.info.SettleLinger
	setDefault(&w.linger, time.Millisecond)
	w.window = w.credit
	if r.c.source.manner.keeps() {
		w.seq = newSequencer(w, r.c.source)
	}
	if w.info.HasCount && !w.info.Volatile {
		w.window = 1
	}
	w.extender, _ = recv.(driver.Extender)
	if w.tx, _ = recv.(*txReceiver); w.tx != nil {
		w.tx.w = w
	}
	w.leases.init(w)
	return w
}

// build makes the lanes, each with its own chain of middleware. A middleware that cannot be built is a mistake of the
// consumer's declaration, to be reported with the others.
func (w *worker) build() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("build middleware: %v", v)
		}
	}()
	n := w.r.c.spec.concurrency
	if w.r.c.newBulk != nil {
		n = 1
	}
	for range n {
		w.lanes = append(w.lanes, newLane(w))
	}
	w.atOnce = min(n, runtime.GOMAXPROCS(0))
	return nil
}

// start starts the lanes and, beside them, what the receiver's abilities need.
func (w *worker) start(hand, intake context.Context, beside *sync.WaitGroup) {
	w.begin(hand, intake)
	w.launch(beside)
}

// launch is start of a worker that has begun.
func (w *worker) launch(beside *sync.WaitGroup) {
	var lanes sync.WaitGroup
	for _, l := range w.lanes {
		lanes.Add(1)
		go l.loop(driver.Settlement{}, lanes.Done)
	}
	go func() {
		lanes.Wait()
		close(w.lanesDone)
	}()
	w.follow(beside)
}

// begin readies the worker to receive.
func (w *worker) begin(hand, intake context.Context) {
	w.hand = hand
	own, stop := context.WithCancel(intake)
	w.intake, w.quit = own, stop
	if hurried := w.r.patience; hurried != nil { // a loop is never hurried
		patience, hurry := context.WithCancel(hurried)
		w.patience, w.quit = patience, func() { hurry(); stop() }
	}
	w.settleBase, w.endSettling = context.WithCancel(context.WithoutCancel(hand))
	w.out = w.freshLocked()
}

// last settles what the lane finished, for a lane that takes no more.
func (w *worker) last(l *lane, s driver.Settlement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recallLocked(l)
	w.finishLocked(l)
	if l.key != nil {
		w.seq.endLocked(l, &s)
	}
	if s.Delivery != nil {
		w.settleLocked(s)
	}
}

// advance settles the delivery that the lane is done with, and returns its next delivery, or nil at the end. It is next, at the
// price of one lock and no call, for a lane of single messages whose next is there already.
func (w *worker) advance(l *lane, done *driver.Delivery) *driver.Delivery {
	l.sample.end()
	w.lock()
	if l.sample.taken {
		w.sampledLocked(l)
	}
	w.recallLocked(l)
	l.bunch.limit = 0
	out, at := w.out, w.head
	if at >= len(w.buf) || w.bunched > 0 || len(out.batch)+1 >= w.settleBatch ||
		w.late || w.stopped || w.isolating || w.suspect != nil || w.r.paused.Load() {
		w.mu.Unlock()
		return w.next(l, driver.Settlement{Delivery: done, Verdict: driver.Done})
	}
	out.batch = append(out.batch, driver.Settlement{Delivery: done, Verdict: driver.Done})
	w.handled++
	d := w.buf[at]
	w.buf[at] = nil
	w.head = at + 1
	l.current, l.overran, l.lost = d, false, false
	l.begin(w.nowLocked())
	if !w.lingering {
		w.armLingerLocked()
	}
	if len(w.idle) > 0 {
		w.wakeNextLocked()
	}
	w.bunchLocked(l)
	w.mu.Unlock()
	return d
}

// next settles what the lane finished, if anything, and returns the lane's next delivery, or nil at the end.
func (w *worker) next(l *lane, s driver.Settlement) *driver.Delivery {
	l.sample.end()
	w.lock()
	if l.sample.taken {
		w.sampledLocked(l)
	}
	w.recallLocked(l)
	l.bunch.limit = 0
	if w.late {
		w.mu.Unlock()
		if s.Delivery != nil {
			w.tellTooLate(1)
		}
		return nil
	}
	w.finishLocked(l)
	if l.key != nil {
		w.seq.endLocked(l, &s)
	}
	if s.Delivery != nil {
		w.settleLocked(s)
		if len(w.out.batch) >= w.settleBatch {
			w.flushLocked()
		}
	}
	yields := 0
	for {
		if w.stopped || w.r.paused.Load() {
			w.dropBufferLocked()
			if w.stopped {
				w.mu.Unlock()
				return nil
			}
			w.parkLocked(l)
			continue
		}
		if w.leaveAloneLocked(l) {
			continue
		}
		if !w.isolating {
			if d := w.takeLocked(l); d != nil {
				l.hold(d, w.nowLocked())
				w.lingerLocked()
				w.wakeNextLocked()
				d = l.shownOf(d)
				if w.seq != nil {
					w.seq.bunchLocked(l)
				}
				w.mu.Unlock()
				return d
			}
		}
		if w.receiving && w.info.Volatile && yields < w.yieldsLocked() {
			yields++
			w.yieldLocked()
			continue
		}
		if w.bunched > 0 && !w.quickLocked() {
			w.recallAllLocked() // and share what is left
			continue
		}
		if w.receiving || !w.roomLocked() {
			w.parkLocked(l)
			yields = 0
			continue
		}
		w.pace.End()
		if w.seq != nil {
			w.receiveLocked(w.seq.contextLocked(w.intake))
		} else {
			w.receiveLocked(w.intake)
		}
	}
}

// nowLocked is when a handler starts. A reading of the clock is used again where all that came with it is done within
// milliseconds. Elsewhere a lane that computes may keep the clock's timer from its processor, and a timeout would begin too early.
func (w *worker) nowLocked() driver.Stamp {
	if w.pace.Proven() {
		return w.r.clock.now()
	}
	return w.r.clock.of(time.Now())
}

// finishLocked notes that the lane has nothing in hand.
func (w *worker) finishLocked(l *lane) {
	if w.suspect != nil {
		w.survivedLocked(l)
	}
	if l.current != nil {
		w.handled++
	} else if l.bulk != nil {
		w.handled += uint64(len(l.bulk.held))
	}
	l.release()
}

// tellTooLate reports outcomes of handlers that were abandoned.
func (w *worker) tellTooLate(n int) {
	w.r.emit(&SettleFailed{Origin: w.r.origin, Count: n, Err: errTooLate})
}

// takeLocked takes what the lane handles next, nil where there is nothing.
func (w *worker) takeLocked(l *lane) *driver.Delivery {
	if w.seq != nil {
		return w.seq.takeLocked(l)
	}
	return w.popLocked()
}

// nothingLocked reports whether there is nothing for a lane to take.
func (w *worker) nothingLocked() bool {
	if w.seq != nil {
		return !w.seq.any()
	}
	return w.head == len(w.buf)
}

// popLocked takes the first of the buffer.
func (w *worker) popLocked() *driver.Delivery {
	if w.head == len(w.buf) {
		return nil
	}
	d := w.buf[w.head]
	w.buf[w.head] = nil
	w.head++
	return d
}

// roomLocked reports whether the credit allows another delivery. Where what is decided uses it up, the lane gives that to
// the broker and looks again. It must not be given here: the lock is given up meanwhile, another lane receives, and two
// that receive overwrite each other's buffer.
func (w *worker) roomLocked() bool {
	w.starved = w.unsettled >= w.credit || w.seq != nil && w.seq.fullLocked()
	return !w.starved && !w.r.closed.Load()
}

// dropBufferLocked gives what no lane has touched back to the broker.
func (w *worker) dropBufferLocked() int {
	n := 0
	for d := w.popLocked(); d != nil; d = w.popLocked() {
		w.unsuspectLocked(d)
		w.settleLocked(driver.Settlement{Delivery: d})
		n++
	}
	w.buf, w.head = w.buf[:0], 0
	return n
}

// share gives back what no lane has touched, because it is wanted elsewhere or not wanted now.
func (w *worker) share(why string) {
	w.mu.Lock()
	w.recallAllLocked()
	n := w.dropBufferLocked()
	if n > 0 {
		w.flushLocked()
	}
	w.mu.Unlock()
	if n > 0 && w.r.listening() {
		w.r.emit(&Released{Origin: w.r.origin, Count: n, Why: why})
	}
}

// stop ends the intake: the buffer goes back, parked lanes end, others end after the delivery in their hands.
func (w *worker) stop() { w.end("stopping") }

// end is stop for a reason. It may be called again.
func (w *worker) end(why string) {
	w.mu.Lock()
	w.recallAllLocked()
	first := !w.ended // which the intake's end may have come before
	w.ended, w.stopped = true, true
	n := w.dropBufferLocked()
	if w.seq != nil && first {
		n = w.seq.stopLocked(why)
	}
	w.wakeAllLocked()
	if w.owingLocked() {
		w.flushLocked()
	}
	w.mu.Unlock()
	if n > 0 && w.r.listening() {
		w.r.emit(&Released{Origin: w.r.origin, Count: n, Why: why})
	}
}

// resume lets parked lanes look again.
func (w *worker) resume() {
	w.mu.Lock()
	w.wakeAllLocked()
	w.mu.Unlock()
}

// abandon gives up the handlers that did not return, and returns how many there are and how many messages they have.
// Those are neither settled nor touched: closing the receiver leaves them to the broker.
func (w *worker) abandon() (handlers, messages int) {
	w.mu.Lock()
	w.recallAllLocked()
	w.late = true
	var ids []string
	var goroutines []int64
	for _, l := range w.lanes {
		if !l.busyLocked() {
			continue
		}
		handlers++
		for _, d := range l.heldLocked() {
			messages++
			ids = append(ids, d.ID.String())
		}
		goroutines = append(goroutines, l.goroutine)
	}
	w.mu.Unlock()
	if handlers > 0 {
		stacks := stacksOf(goroutines)
		found := slices.IndexFunc(goroutines, func(id int64) bool { return stacks[id] != "" })
		e := &Abandoned{Origin: w.r.origin, IDs: ids}
		if found >= 0 {
			e.Stack = stacks[goroutines[found]]
		}
		w.r.emit(e)
	}
	return handlers, messages
}

// finish gives everything that is decided to the broker and stops what is beside the lanes.
func (w *worker) finish() {
	for _, m := range w.moversNow() {
		m.finish()
	}
	w.mu.Lock()
	if w.owingLocked() {
		w.flushLocked()
	}
	w.done = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.settling.Wait()
	w.endSettling()
}
