package wherry

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

func sequenceWorker(tb testing.TB) (*worker, *sequencer) {
	tb.Helper()
	w, _ := handWorker(tb, nil)
	w.done = false
	w.seq = newSequencer(w, &sourceSpec{manner: sequenced, sequence: sequenceSpec{perKey: 100, total: 1 << 30, bytes: 1 << 30}})
	return w, w.seq
}

// The retries of a sequence end with its worker, also where the lane that received was the first to see the end: a timer would keep
// all of it in memory for as long as the longest of them waits.
func TestRetriesEndWithTheirWorker(t *testing.T) {
	t.Parallel()
	w, seq := sequenceWorker(t)
	w.mu.Lock()
	w.buf, w.unsettled = []*driver.Delivery{{Key: []byte("a")}}, 1
	seq.takeInLocked()
	seq.waitLocked(seq.takeKeyLocked(), driver.StampOf(time.Now().Add(time.Hour)))
	w.stopped = true // as by the lane
	w.mu.Unlock()
	w.end("stopping")
	assert.True(t, !seq.timer.Stop(), "no retry is waited for any more")
	assert.Equal(t, len(seq.due), 0)
}

// The end of a tenure takes time by what there is of it, not by the square of that, and leaves the others in their order.
func TestEndOfATenureIsLinear(t *testing.T) {
	t.Parallel()
	const keys = 80_000
	w, seq := sequenceWorker(t)
	for i := range keys {
		w.buf = append(w.buf, &driver.Delivery{Key: []byte(strconv.Itoa(i)), Tenure: uint64(i % 2)})
	}
	w.unsettled = keys
	seq.takeInLocked()
	began := time.Now()
	assert.Equal(t, seq.endTenureLocked(0), keys/2)
	if took := time.Since(began); took > 2*time.Second { // it was many times that
		t.Errorf("the end of a tenure of %d keys takes %v", keys/2, took)
	}
	assert.Equal(t, seq.ready, keys/2)
	assert.Equal(t, w.unsettled, keys/2)
	for i := range keys / 2 {
		want := 2*i + 1
		if got := string(seq.takeKeyLocked().Value.head.Key); got != strconv.Itoa(want) {
			t.Fatalf("key %d is %s, want %d", i, got, want)
		}
	}
	assert.True(t, !seq.any() && seq.last == nil, "no other is ready")
}

// A suspect that goes back before its handler was called is none of its worker any more, and holds up no other consumer.
func TestSuspectThatGoesBackHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, goBack := range map[string]func(w *worker, d *driver.Delivery){
		"shared":     func(w *worker, _ *driver.Delivery) { w.share("it is wanted elsewhere") },
		"stopped":    func(w *worker, _ *driver.Delivery) { w.end("stopping") },
		"revoked":    func(w *worker, d *driver.Delivery) { w.revoke(driver.Revocation{Tenure: d.Tenure}) },
		"lost":       func(w *worker, d *driver.Delivery) { w.revoke(driver.Revocation{Tenure: d.Tenure, Lost: true}) },
		"lost lease": func(w *worker, d *driver.Delivery) { w.loseOne(d) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := handWorker(t, nil)
			w.r.fleet = newFleet()
			w.r.crew.init()
			d := &driver.Delivery{Tenure: 7}
			w.buf, w.unsettled, w.suspect = []*driver.Delivery{d}, 1, d
			q := &w.r.fleet.quarantine
			assert.True(t, q.enter(w), "nobody else has one")
			goBack(w, d)
			assert.True(t, w.suspect == nil, "it has none")
			q.mu.Lock()
			defer q.mu.Unlock()
			assert.True(t, q.owner == nil, "nobody has one")
		})
	}
}

// refusingReceiver cannot extend nor be closed.
type refusingReceiver struct {
	driver.Receiver
	extend error
}

var errNotClosed = errors.New("not closed")

func (r refusingReceiver) Extend(context.Context, []*driver.Delivery) error { return r.extend }
func (r refusingReceiver) Close(context.Context) error                      { return errNotClosed }

// Leases that are not extended, and receivers that are not closed, are events of their own: nothing was settled.
func TestWhatIsNoSettlementIsNoFailedOne(t *testing.T) {
	t.Parallel()
	w, _ := handWorker(t, nil)
	var seen []Event
	w.r.events = listeners([]func(Event){func(e Event) { seen = append(seen, e) }})
	w.leases = leases{w: w, every: time.Second, turn: make(chan struct{}, 1)}
	w.leases.addLocked([]*driver.Delivery{{}, {}, {}})
	w.unsettled = 3
	away := errors.New("away")
	all := &driver.BatchError{Errs: []error{nil, driver.ErrRevoked, away}}
	w.extender = refusingReceiver{extend: all}
	w.leases.extend()
	w.extender = refusingReceiver{extend: away}
	w.leases.extend()
	w.r.closeReceiver(refusingReceiver{})
	assert.Equal(t, seen, []Event{
		&ExtendFailed{Count: 2, Lost: 1, Err: all}, &ExtendFailed{Count: 2, Err: away}, &CloseFailed{Err: errNotClosed},
	})
}
