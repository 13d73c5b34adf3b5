package mem

import (
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A clock turns due times, which are by the wall clock, into times since the broker was made, which are monotonic. The
// difference between the two is kept for as long as it holds, since it differs by a little each time that it is
// measured, and records with one due time are to stay in their order.
type clock struct {
	start time.Time
	apart atomic.Int64 // wall clock less monotonic, in nanoseconds
}

// clockSlack is how far the kept difference may be behind the true one. A due time is that much late at most, and never
// early.
const clockSlack = 20 * time.Microsecond

// now is the time since the broker was made.
func (b *Broker) now() time.Duration { return time.Since(b.clock.start) }

// dueAt is when the record is due.
func (b *Broker) dueAt(r *driver.Record) time.Duration {
	now := time.Now()
	apart := now.UnixNano() - int64(now.Sub(b.clock.start))
	if kept := b.clock.apart.Load(); apart < kept || apart > kept+int64(clockSlack) {
		b.clock.apart.Store(apart)
	} else {
		apart = kept
	}
	return time.Duration(int64(r.Due) - apart)
}
