package drivertest

import (
	"time"

	"github.com/wherryhq/wherry/driver"
)

// readRevocations takes what the channel brings until it is closed or the case is over.
func (r *receiver) readRevocations(c <-chan driver.Revocation) {
	for {
		select {
		case rv, ok := <-c:
			if !ok {
				return
			}
			r.mu.Lock()
			r.told = append(r.told, rv)
			r.owed = append(r.owed, rv)
			if !r.manual {
				r.answer()
			}
			r.mu.Unlock()
		case <-r.t.over:
			return
		}
	}
}

// answer calls Done of every revocation whose tenure has nothing in hand. The caller holds the lock.
func (r *receiver) answer() {
	if r.manual {
		return
	}
	kept := r.owed[:0]
	for _, rv := range r.owed {
		if rv.Lost {
			r.part(rv.Tenure)
		}
		switch {
		case r.holds(rv.Tenure):
			kept = append(kept, rv)
		case rv.Done != nil:
			rv.Done()
		}
	}
	r.owed = kept
}

func (r *receiver) holds(tenure uint64) bool {
	for d := range r.held {
		if r.held[d].copy.Tenure == tenure {
			return true
		}
	}
	return false
}

// part forgets what is held of a tenure that is lost; it must stay intact all the same.
func (r *receiver) part(tenure uint64) {
	for d, h := range r.held {
		if h.copy.Tenure == tenure {
			r.parted = append(r.parted, h)
			delete(r.held, d)
		}
	}
}

// byHand leaves the answering of revocations to the case.
func (r *receiver) byHand() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.manual = true
}

// revoked waits until the tenure is revoked.
func (r *receiver) revoked(tenure uint64) driver.Revocation {
	var found driver.Revocation
	ok := r.t.eventually(func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, rv := range r.told {
			if rv.Tenure == tenure {
				found = rv
				return true
			}
		}
		return false
	})
	if !ok {
		r.t.Fatalf("tenure %d was taken away, and no Revocation told so within %v", tenure, r.t.h.Wait)
	}
	return found
}

// expired waits until the revocation's settlements stop being applied.
func (r *receiver) expired(rv driver.Revocation) {
	if !rv.Lost {
		r.t.pause(max(time.Until(rv.Until), 0) + r.t.h.slack())
	}
}
