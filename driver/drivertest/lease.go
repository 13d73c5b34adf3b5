package drivertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// keepLeases extends what is in hand at a third of the lease, until the receiver is closed.
func (r *receiver) keepLeases(e driver.Extender) {
	ticker := time.NewTicker(r.info.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.extendHeld(e)
		case <-r.closed:
			return
		case <-r.t.over:
			return
		}
	}
}

// extendHeld extends everything in hand. Meanwhile none of it is settled, since what is settled is the driver's.
func (r *receiver) extendHeld(e driver.Extender) {
	r.mu.Lock()
	if r.expires || len(r.held) == 0 {
		r.mu.Unlock()
		return
	}
	r.lent = make(map[*driver.Delivery]bool, len(r.held))
	batch := make([]*driver.Delivery, 0, len(r.held))
	for d := range r.held {
		r.lent[d] = true
		batch = append(batch, d)
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), r.t.h.Wait)
	defer cancel()
	err := e.Extend(ctx, batch)
	for i := range batch {
		switch entry := driver.EntryError(err, i); {
		case entry == nil, errors.Is(entry, driver.ErrRevoked), errors.Is(entry, driver.ErrClosed):
		case errors.Is(entry, driver.ErrDisconnected), ctx.Err() != nil:
		default:
			r.t.Errorf("Extend: %v", entry)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lent = nil
	r.free.Broadcast()
}

// untilFree waits until nothing of the batch is lent to an Extend. The caller holds the lock.
func (r *receiver) untilFree(batch []driver.Settlement) {
	for slices.ContainsFunc(batch, func(s driver.Settlement) bool { return r.lent[s.Delivery] }) {
		r.free.Wait()
	}
}

// letExpire leaves the leases to the case.
func (r *receiver) letExpire() *receiver {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expires = true
	return r
}
