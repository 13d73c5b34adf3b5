package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A receiver is a driver.Receiver under observation: what it brings must keep the rules of deliveries, and stay as it
// is until it is settled, even after the receiver was closed. What is in hand is extended, as the engine does it, and
// revocations are read always; one is answered when nothing of its tenure is held any more.
type receiver struct {
	t      *T
	r      driver.Receiver
	info   driver.Info
	topics []string
	most   int           // in hand at once, as the source said
	closed chan struct{} // by close
	ended  sync.Once     // for closed

	mu      sync.Mutex // guards the fields below
	held    map[*driver.Delivery]held
	parted  []held // unsettled when the receiver was closed, or revoked
	seen    tokens
	slot    int
	owed    []driver.Revocation // not yet answered
	told    []driver.Revocation // all that came
	manual  bool                // the case answers revocations itself
	expires bool                // the case extends leases itself, or does not
	lent    map[*driver.Delivery]bool
	free    *sync.Cond // signals that nothing is lent to an Extend any more
	lastErr error
}

func watchReceiver(t *T, r driver.Receiver, s driver.Source) *receiver {
	w := &receiver{t: t, r: r, info: r.Info(), held: map[*driver.Delivery]held{}, seen: tokens{}, most: s.Prefetch, closed: make(chan struct{})}
	for i := range s.Topics {
		w.topics = append(w.topics, s.Topics[i].Name)
	}
	if rv, ok := r.(driver.Revoker); ok {
		go w.readRevocations(rv.Revocations())
	}
	w.free = sync.NewCond(&w.mu)
	if e, ok := r.(driver.Extender); ok && w.info.Lease > 0 {
		go w.keepLeases(e)
	}
	t.Cleanup(w.checkParted)
	t.Cleanup(w.close)
	return w
}

// close closes the receiver. What it held must stay intact from then on to the end of the case.
func (r *receiver) close() {
	r.ended.Do(func() { close(r.closed) })
	r.t.closing("Receiver.Close", r.r.Close)
	r.mu.Lock()
	defer r.mu.Unlock()
	for d, h := range r.held {
		r.parted = append(r.parted, h)
		delete(r.held, d)
	}
}

// checkParted fails the case when a delivery changed after its receiver was closed.
func (r *receiver) checkParted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.parted {
		if what := r.parted[i].changed(); what != "" {
			r.t.Errorf("delivery %s, unsettled, changed after its receiver was closed: %s", r.parted[i].copy.ID, what)
		}
	}
}

// once calls Receive once for up to n deliveries and returns those that came.
func (r *receiver) once(ctx context.Context, n int) ([]*driver.Delivery, error) {
	t := r.t
	marker := &driver.Delivery{}
	dst := append(make([]*driver.Delivery, 0, n+1), marker)
	var got []*driver.Delivery
	var err error
	if !t.until(ctx, "Receive", r.info.StopWithin+t.h.Wait, func() { got, err = r.r.Receive(ctx, dst) }) {
		t.FailNow()
	}
	switch {
	case len(got) < 1 || got[0] != marker:
		t.Fatalf("Receive did not append after the element that was there")
	case len(got) > n+1:
		t.Fatalf("Receive returned %d deliveries where there was room for %d", len(got)-1, n)
	case len(got) == 1 && err == nil:
		t.Errorf("Receive returned neither a delivery nor an error")
	}
	r.keep(got[1:])
	return got[1:], err
}

// keep takes deliveries into keeping.
func (r *receiver) keep(ds []*driver.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range ds {
		if d == nil {
			r.t.Fatalf("Receive returned a nil delivery")
		}
		if _, twice := r.held[d]; twice {
			r.t.Errorf("delivery %s is in hand twice", d.ID)
		}
		if id, reused := r.seen.reused(d); reused {
			r.t.Errorf("%s has the token and tenure that %s had", d.ID, id)
		}
		if !slices.Contains(r.topics, d.Topic) {
			r.t.Errorf("%s is said to be from topic %q; the source has %q", d.ID, d.Topic, r.topics)
		}
		if r.info.HasCount != (d.Delivered > 0) {
			r.t.Errorf("%s was delivered %d times, and Info().HasCount is %v", d.ID, d.Delivered, r.info.HasCount)
		}
		r.slot++
		d.Slot = r.slot
		r.held[d] = hold(d)
	}
	if len(r.held) > r.most {
		r.t.Fatalf("%d deliveries are in hand, with a prefetch of %d: the case is wrong", len(r.held), r.most)
	}
}

// take receives exactly n deliveries within Wait, in the order in which they came.
func (r *receiver) take(n int) []*driver.Delivery {
	ds := r.upTo(n, r.t.h.Wait)
	if len(ds) < n {
		r.t.Fatalf("%d of %d deliveries came within %v: %q; last error: %v", len(ds), n, r.t.h.Wait, ids(ds), r.failure())
	}
	return ds
}

// upTo receives until n deliveries came or d passed.
func (r *receiver) upTo(n int, d time.Duration) []*driver.Delivery {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var ds []*driver.Delivery
	for len(ds) < n && ctx.Err() == nil {
		got, err := r.once(ctx, n-len(ds))
		ds = append(ds, got...)
		if r.fatal(err) {
			break
		}
	}
	return ds
}

// fatal notes the error of a Receive and reports whether it is final. After another it lets a little time go by.
func (r *receiver) fatal(err error) bool {
	if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	r.mu.Lock()
	r.lastErr = err
	r.mu.Unlock()
	if errors.Is(err, driver.ErrClosed) {
		return true
	}
	r.t.pause(10 * time.Millisecond)
	return false
}

func (r *receiver) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastErr
}

// one receives one delivery.
func (r *receiver) one() *driver.Delivery { return r.take(1)[0] }

// expect receives the deliveries of exactly these records, in any order, each as it was sent.
func (r *receiver) expect(records ...driver.Record) []*driver.Delivery {
	ds := r.take(len(records))
	byID := make(map[string]*driver.Record, len(records))
	for i := range records {
		byID[records[i].ID.String()] = &records[i]
	}
	for _, d := range ds {
		rec := byID[d.ID.String()]
		if rec == nil {
			r.t.Fatalf("%q came, twice or never sent; sent %q, came %q", d.ID, recordIDs(records), ids(ds))
		}
		delete(byID, d.ID.String())
		if wrong := difference(rec, d); wrong != "" {
			r.t.Errorf("%s arrived with %s", d.ID, wrong)
		}
	}
	return ds
}

// drain receives and settles exactly these records, a few at a time.
func (r *receiver) drain(records ...driver.Record) {
	var came []string
	for left := len(records); left > 0; {
		ds := r.take(min(left, r.most/2))
		came = append(came, ids(ds)...)
		left -= len(ds)
		r.done(ds...)
	}
	r.t.wantAll(came, records)
}

// none fails the case when anything comes within Quiet.
func (r *receiver) none() {
	if ds := r.upTo(1, r.t.h.Quiet); len(ds) > 0 {
		r.t.Fatalf("%q came, where nothing should", ids(ds))
	}
}

// settle settles in one call and returns its error. Entries that were settled or revoked are no longer held.
func (r *receiver) settle(ctx context.Context, batch ...driver.Settlement) error {
	pictures := r.takeOut(batch)
	if len(pictures) < len(batch) {
		r.t.Fatalf("a delivery is not in hand; the case is wrong")
	}
	return r.settleTaken(ctx, pictures, batch)
}

// settleOpen is settle with Done for those of ds whose tenure was not lost meanwhile. It returns the ids of what was settled.
func (r *receiver) settleOpen(ctx context.Context, ds ...*driver.Delivery) map[string]bool {
	pictures := r.takeOut(settlements(driver.Done, ds...))
	settled := map[string]bool{}
	if len(pictures) == 0 {
		return settled
	}
	open := make([]*driver.Delivery, len(pictures))
	names := make([]string, len(pictures))
	for i, h := range pictures {
		open[i], names[i] = h.d, h.copy.ID.String()
	}
	err := r.settleTaken(ctx, pictures, settlements(driver.Done, open...))
	for i, name := range names {
		settled[name] = driver.EntryError(err, i) == nil
	}
	return settled
}

// takeOut takes what is about to be settled out of what is held, and returns how each was. What is not held is left out.
func (r *receiver) takeOut(batch []driver.Settlement) []held {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.untilFree(batch)
	var pictures []held
	for i := range batch {
		h := r.held[batch[i].Delivery]
		if h.d == nil {
			continue
		}
		if what := h.changed(); what != "" {
			r.t.Errorf("delivery %s changed while it was in hand: %s", h.copy.ID, what)
		}
		pictures = append(pictures, h)
		delete(r.held, h.d)
	}
	return pictures
}

func (r *receiver) settleTaken(ctx context.Context, pictures []held, batch []driver.Settlement) error {
	err := r.raw(ctx, batch...)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range batch {
		switch entry := driver.EntryError(err, i); {
		case entry == nil:
		case errors.Is(entry, driver.ErrRevoked):
		default:
			r.held[pictures[i].d] = pictures[i]
		}
	}
	r.answer()
	return err
}

// raw is Settle as it is, for settlements that should be refused.
func (r *receiver) raw(ctx context.Context, batch ...driver.Settlement) error {
	t := r.t
	own := slices.Clone(batch)
	var err error
	if !t.within("Settle", 3*t.h.Wait, func() { err = r.r.Settle(ctx, own) }) {
		t.FailNow()
	}
	if be, ok := errors.AsType[*driver.BatchError](err); ok && len(be.Errs) != len(batch) {
		t.Errorf("Settle of %d returned a BatchError of %d entries: %v", len(batch), len(be.Errs), err)
	}
	return err
}

func settlements(v driver.Verdict, ds ...*driver.Delivery) []driver.Settlement {
	batch := make([]driver.Settlement, len(ds))
	for i, d := range ds {
		batch[i] = driver.Settlement{Delivery: d, Verdict: v}
	}
	return batch
}

// done ends deliveries; it must succeed.
func (r *receiver) done(ds ...*driver.Delivery) { r.must(settlements(driver.Done, ds...)...) }

// release gives deliveries back; it must succeed.
func (r *receiver) release(ds ...*driver.Delivery) { r.must(settlements(driver.Release, ds...)...) }

func (r *receiver) must(batch ...driver.Settlement) {
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.t.h.Wait)
	defer cancel()
	if err := r.settle(ctx, batch...); err != nil {
		r.t.Fatalf("Settle of %d: %v", len(batch), err)
	}
}
