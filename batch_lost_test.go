package wherry

import (
	"errors"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

// Of a batch of which some is lost the rest is its worker's still: what its handler decided of that stands, but for failures.
func TestDecidesOfABatchByTheMessage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose func(w *worker, d *driver.Delivery)
		all  bool
	}{
		"a lease":      {lose: func(w *worker, d *driver.Delivery) { w.loseOne(d) }},
		"a tenure":     {lose: func(w *worker, d *driver.Delivery) { w.revoke(driver.Revocation{Tenure: d.Tenure, Lost: true}) }},
		"the receiver": {lose: func(w *worker, _ *driver.Delivery) { w.lose() }, all: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := handWorker(t, nil)
			w.done, w.r.c.source, w.r.c.spec.retry = false, &sourceSpec{}, &RetryPolicy{}
			l := &lane{w: w, bulk: &bulk{}}
			w.lanes = []*lane{l}
			gone, ours := &driver.Delivery{Tenure: 1}, &driver.Delivery{Tenure: 2}
			hold := func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.unsettled += 2
				l.release()
				l.hold(gone, 1)
				l.hold(ours, 1)
				l.begin(1)
			}
			moves := func(d *driver.Delivery, o Outcome) bool {
				s, m := w.decide(l, d, o)
				assert.True(t, m != nil || s == driver.Settlement{Delivery: d}, "it moves or goes back")
				return m != nil
			}
			hold()
			test.lose(w, gone)
			assert.True(t, l.ctx.Err() != nil, "the handler was told")
			assert.True(t, !moves(gone, Reject(errors.New("bad"))), "what is lost is another's")
			assert.Equal(t, moves(ours, Reject(errors.New("bad"))), !test.all)
			assert.True(t, !moves(ours, Retry(errors.New("its context ended"))), "which says nothing about it")
			s, _ := w.decide(l, ours, Ack())
			assert.Equal(t, s.Verdict, driver.Done)
			hold()
			assert.True(t, moves(gone, Retry(errors.New("failed"))), "nothing of the next batch is lost")
			test.lose(w, ours)
			assert.Equal(t, moves(gone, Reject(errors.New("bad"))), !test.all)
		})
	}
}

// Where a lane has one message in hand, it is that which was lost, whatever became of it.
func TestDecidesOfALostMessage(t *testing.T) {
	t.Parallel()
	w, _ := handWorker(t, nil)
	w.done, w.r.c.source, w.r.c.spec.retry = false, &sourceSpec{}, &RetryPolicy{}
	l := &lane{w: w}
	w.lanes = []*lane{l}
	d := &driver.Delivery{Tenure: 1}
	w.mu.Lock()
	w.unsettled++
	l.hold(d, 1)
	l.begin(1)
	w.mu.Unlock()
	_, moved := w.decide(l, d, Retry(errors.New("failed")))
	assert.True(t, moved != nil, "a failure is tried again")
	w.revoke(driver.Revocation{Tenure: 1, Lost: true})
	for name, o := range map[string]Outcome{"retry": Retry(errors.New("failed")), "reject": Reject(errors.New("bad")), "defer": Defer(0)} {
		s, m := w.decide(l, d, o)
		assert.True(t, m == nil, name+" moves nothing")
		assert.Equal(t, s, driver.Settlement{Delivery: d})
	}
}
