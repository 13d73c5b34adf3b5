package wherry

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A sideline is a receiver that the engine uses beside its workers, for holds and redrives. It keeps what it holds on
// brokers with leases, and lets go of it when the broker takes it back.
type sideline struct {
	driver.Receiver
	extender driver.Extender
	turn     chan struct{} // held around each Settle and Extend, which must not meet
	stop     context.CancelFunc
	beside   sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	held    map[*driver.Delivery]uint64
	ended   map[uint64]func() // tenures, and whom to tell once nothing of them is held
	over    []uint64          // the tenures of ended whose drivers were told, the oldest first
	lost    bool              // the receiver ended, and with it all tenures
	changed chan struct{}     // closed and replaced when a tenure ends
}

func newSideline(r driver.Receiver) *sideline {
	ctx, stop := context.WithCancel(context.Background())
	s := &sideline{
		Receiver: r, turn: make(chan struct{}, 1), stop: stop, held: make(map[*driver.Delivery]uint64),
		ended: make(map[uint64]func()), changed: make(chan struct{}),
	}
	if rv, ok := r.(driver.Revoker); ok {
		ch := rv.Revocations()
		s.beside.Go(func() { s.follow(ctx, ch) })
	}
	if lease := r.Info().Lease; lease > 0 {
		if s.extender, _ = r.(driver.Extender); s.extender != nil {
			s.beside.Go(func() { s.extend(ctx, max(lease/3, time.Millisecond)) })
		}
	}
	return s
}

// Receive implements [driver.Receiver] and notes what it brings.
func (s *sideline) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	got, err := s.Receiver.Receive(ctx, dst)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range got[len(dst):] {
		s.held[d] = d.Tenure
	}
	return got, err
}

// Settle implements [driver.Receiver] and forgets what is settled. What may be tried again is held on.
func (s *sideline) Settle(ctx context.Context, batch []driver.Settlement) error {
	tenures := make([]uint64, len(batch))
	for i := range batch {
		tenures[i] = batch[i].Delivery.Tenure
	}
	s.turn <- struct{}{}
	err := s.Receiver.Settle(ctx, batch)
	again, _, _ := sortFailed(len(batch), err)
	s.mu.Lock()
	for i := range batch {
		if len(again) > 0 && again[0] == i {
			again = again[1:]
			continue
		}
		delete(s.held, batch[i].Delivery)
	}
	s.mu.Unlock()
	<-s.turn
	for _, tenure := range tenures {
		s.tell(tenure)
	}
	return err
}

// tell tells the driver when nothing of an ended tenure is held any more.
func (s *sideline) tell(tenure uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.ended[tenure]
	if done == nil {
		return
	}
	for _, held := range s.held {
		if held == tenure {
			return
		}
	}
	s.ended[tenure] = nil
	s.over = append(s.over, tenure)
	// What is still on its way of an ended tenure is known by it for a while.
	if len(s.over) > maxEndedTenures {
		delete(s.ended, s.over[0])
		s.over = s.over[1:]
	}
	done()
}

// gone reports whether the tenure of d has ended, and returns a channel that is closed when one ends. A receiver that ended says so
// by the end of its revocations, or of its leases.
func (s *sideline) gone(d *driver.Delivery) (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ended := s.ended[d.Tenure]
	return ended || s.lost, s.changed
}

// holds reports whether d is neither settled nor lost.
func (s *sideline) holds(d *driver.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, held := s.held[d]
	return held
}

func (s *sideline) follow(ctx context.Context, ch <-chan driver.Revocation) {
	for {
		select {
		case r, open := <-ch:
			if !open {
				s.lose()
				return
			}
			s.end(r)
		case <-ctx.Done():
			return
		}
	}
}

// lose lets go of all that is held: the receiver ended.
func (s *sideline) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
	clear(s.held)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *sideline) end(r driver.Revocation) {
	s.mu.Lock()
	if r.Done == nil {
		r.Done = func() {}
	}
	// It may be told twice of one tenure: that it is ending, and then that it is lost before its time.
	s.over = slices.DeleteFunc(s.over, func(tenure uint64) bool { return tenure == r.Tenure })
	s.ended[r.Tenure] = both(s.ended[r.Tenure], r.Done)
	if r.Lost {
		for d, tenure := range s.held {
			if tenure == r.Tenure {
				delete(s.held, d)
			}
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.tell(r.Tenure)
}

// extend keeps what is held. A lease that is lost shows when the delivery is settled.
func (s *sideline) extend(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		s.turn <- struct{}{}
		s.mu.Lock()
		ds := make([]*driver.Delivery, 0, len(s.held))
		for d := range s.held {
			ds = append(ds, d)
		}
		s.mu.Unlock()
		if len(ds) > 0 {
			bounded, stop := context.WithTimeout(ctx, settleTimeout)
			err := s.extender.Extend(bounded, ds)
			stop()
			if errors.Is(driver.EntryError(err, 0), ErrClosed) {
				s.lose()
			}
		}
		<-s.turn
	}
}

// Close implements [driver.Receiver].
func (s *sideline) Close(ctx context.Context) error {
	s.stop()
	err := s.Receiver.Close(ctx)
	s.beside.Wait()
	return err
}
