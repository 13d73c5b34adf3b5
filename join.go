package wherry

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A joiner makes batches of concurrent publishes, for brokers where a call costs a round trip. It has lanes, as many as
// calls may overlap, and no goroutine of its own: the first publish that finds its lane idle sends at once, whatever has
// come by then goes in the next call, and each sender hands the lane to the first of those that wait. So a single
// publisher never lingers, and many share.
//
// A key always takes the same lane, so that two calls in flight never hold one key.
type joiner struct {
	call    func(ctx context.Context, recs []driver.Record) error
	limits  driver.SendLimits
	timeout time.Duration
	seed    maphash.Seed
	lanes   []joinLane

	mu     sync.Mutex // guards the fields below
	turn   int
	closed bool
	open   sync.WaitGroup // publishes and calls
}

type joinLane struct {
	mu      sync.Mutex // guards the fields below
	busy    bool
	waiting []*joined
}

// joined is one publish in a lane.
type joined struct {
	enc    *encoding
	result chan error       // cap 1
	lead   chan struct{}    // cap 1: the lane is yours
	by     time.Time        // until when its call may last
	late   <-chan time.Time // its own end, where its context has none
	call   *joinCall        // nil while it waits; the lane's lock guards it
}

// joinCall is a call in flight. It ends with the last publish that waits for it.
type joinCall struct {
	waits atomic.Int32
	end   context.CancelCauseFunc
}

// joinSlack lets a call that ends with its last publish say what became of it.
const joinSlack = 100 * time.Millisecond

// why is what ended the wait of a publish.
func (it *joined) why(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errPublishTimeout
}

func newJoiner(call func(context.Context, []driver.Record) error, l driver.SendLimits, timeout time.Duration) *joiner {
	return &joiner{
		call: call, limits: l, timeout: timeout, seed: maphash.MakeSeed(), lanes: make([]joinLane, max(l.Overlap, 1)),
	}
}

// send sends one message, alone or with others, and returns its own result. When ctx ends while the message waits, or the
// publish timeout where ctx has no deadline, it is not sent; when that happens while the call is in flight the result is
// the call's where nobody else waits for it, and otherwise ErrUnconfirmed, with the encoding left to the call.
func (j *joiner) send(ctx context.Context, e *encoding) error {
	lane, err := j.lane(e.rec[0].Key)
	if err != nil {
		return err
	}
	defer j.open.Done()
	it := &joined{enc: e, result: make(chan error, 1), lead: make(chan struct{}, 1), by: time.Now().Add(j.timeout)}
	if deadline, ok := ctx.Deadline(); !ok {
		timer := time.NewTimer(max(j.timeout, j.timeout+joinSlack)) // the sum of a huge timeout is negative
		defer timer.Stop()
		it.late = timer.C
	} else if deadline.After(it.by) {
		it.by = deadline
	}
	lane.mu.Lock()
	lane.waiting = append(lane.waiting, it)
	leads := !lane.busy
	lane.busy = true
	lane.mu.Unlock()
	if leads {
		return j.drive(ctx, lane, it)
	}
	select {
	case err := <-it.result:
		return err
	case <-it.lead:
		return j.drive(ctx, lane, it)
	case <-ctx.Done():
	case <-it.late:
	}
	return j.leave(ctx, lane, it)
}

func (j *joiner) lane(key []byte) (*joinLane, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, errClosedPublisher
	}
	j.open.Add(1)
	if len(key) > 0 {
		return &j.lanes[maphash.Bytes(j.seed, key)%uint64(len(j.lanes))], nil
	}
	j.turn++
	return &j.lanes[j.turn%len(j.lanes)], nil
}

// drive sends what waits in the lane, own first, and hands the lane on. The call has a context of its own, which lasts as
// long as the last of its publishes waits: one publisher that gives up must not take the others with it.
func (j *joiner) drive(ctx context.Context, lane *joinLane, own *joined) error {
	call := &joinCall{}
	batch := j.next(lane, call)
	recs := make([]driver.Record, len(batch))
	by := own.by
	for i, it := range batch {
		recs[i] = it.enc.rec[0]
		if it.by.After(by) {
			by = it.by
		}
	}
	calling, end := context.WithCancelCause(context.WithoutCancel(ctx))
	calling, stop := context.WithDeadlineCause(calling, by, errPublishTimeout)
	call.end = end
	finished := make(chan struct{})
	j.open.Go(func() {
		defer close(finished)
		defer end(nil)
		defer stop()
		err := j.call(calling, recs)
		j.pass(lane)
		for i, it := range batch {
			it.result <- told(driver.EntryError(err, i))
		}
	})
	select {
	case err := <-own.result:
		<-finished
		return err
	case <-ctx.Done():
	case <-own.late:
	}
	return j.inFlight(ctx, own)
}

// next takes the lane's next batch, within the limits, for a call.
func (j *joiner) next(lane *joinLane, call *joinCall) []*joined {
	lane.mu.Lock()
	defer lane.mu.Unlock()
	n := fit(j.limits, j.limits.Batch, len(lane.waiting), func(i int) int { return lane.waiting[i].enc.rec[0].Size() })
	batch := append([]*joined(nil), lane.waiting[:n]...)
	call.waits.Store(int32(n))
	for _, it := range batch {
		it.call = call
	}
	lane.waiting = append(lane.waiting[:0], lane.waiting[n:]...)
	return batch
}

// pass hands the lane to the first that waits, or leaves it idle.
func (j *joiner) pass(lane *joinLane) {
	lane.mu.Lock()
	defer lane.mu.Unlock()
	if len(lane.waiting) == 0 {
		lane.busy = false
		return
	}
	lane.waiting[0].lead <- struct{}{}
}

// leave takes a message whose context ended out of the lane, if it has not gone yet.
func (j *joiner) leave(ctx context.Context, lane *joinLane, it *joined) error {
	lane.mu.Lock()
	for i, w := range lane.waiting {
		if w != it {
			continue
		}
		lane.waiting = append(lane.waiting[:i], lane.waiting[i+1:]...)
		lane.mu.Unlock()
		select {
		case <-it.lead: // it was this one's turn
			j.pass(lane)
		default:
		}
		return fmt.Errorf("%w: %w", ErrNotSent, it.why(ctx))
	}
	lane.mu.Unlock()
	return j.inFlight(ctx, it)
}

// inFlight is the result of a message whose context ended during its call.
func (j *joiner) inFlight(ctx context.Context, it *joined) error {
	select {
	case err := <-it.result:
		return err
	default:
	}
	if it.call.waits.Add(-1) == 0 {
		// Nobody else waits for the call: it ends, and says what became of its messages.
		it.call.end(it.why(ctx))
		return <-it.result
	}
	it.enc.lent = true
	return fmt.Errorf("%w: %w", ErrUnconfirmed, it.why(ctx))
}

// close refuses what comes from now on and waits, within ctx, for what is in the lanes to go out.
func (j *joiner) close(ctx context.Context) {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		j.open.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
