package mem

import (
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// The values that Config's zero fields stand for.
const (
	DefaultMaxMessages = 10_000
	DefaultMaxBytes    = 64 << 20
)

// Config says how a broker is built. The zero Config is a good broker. It is read by [New] and not kept.
type Config struct {
	// MaxMessages and MaxBytes bound what is ready in each queue; 0 is DefaultMaxMessages and DefaultMaxBytes. What is
	// in flight does not count, and what waits for a due time is bounded apart by the same numbers.
	MaxMessages int
	MaxBytes    int
	// MaxDeadLetters and MaxDeadLetterBytes are the same bounds for sends to dead-letter and hold topics, which fail
	// with [driver.ErrFull] where others wait; 0 is MaxMessages and MaxBytes.
	MaxDeadLetters     int
	MaxDeadLetterBytes int
	// MaxBroadcast and MaxBroadcastBytes bound what is ready for each broadcast reader. Senders do not wait for one: what is
	// above the bound is dropped, the oldest first, and counted by [Broker.Missed]. One record is always kept. 0 is
	// MaxMessages and MaxBytes.
	MaxBroadcast      int
	MaxBroadcastBytes int
	// MaxRecord is the most bytes of one record's body, key and headers. 0 is MaxBytes, which it never exceeds.
	MaxRecord int
	// SendBatch is what senders advertise as the batch that pays; 0 is that batches gain nothing, which is the truth.
	SendBatch int
	// Lease is how long a delivery stays with its receiver unless extended; 0 is for ever. Receivers of a broker with
	// a lease are [driver.Extender].
	Lease time.Duration
	// Poison overwrites bodies and keys once they are settled and never uses their memory again, so that whoever kept
	// one is found. It is always on in builds with -race.
	Poison bool
	// Weak takes strengths away. The zero value takes none.
	Weak Weak
}

// Weak makes the broker as weak as others are, one field per weakness, for tests of what stands above it.
type Weak struct {
	// AcceptLateSettlements applies a settlement whose tenure ended to whoever has the record now.
	AcceptLateSettlements bool
	// CountReleases counts a released delivery as one that was made.
	CountReleases bool
	// RequeueBehindNew puts what comes back behind everything that is ready. Where receivers own keys, it is what was
	// released that comes behind what is ready of its key; a tenure given up as a whole comes again in order.
	RequeueBehindNew bool
	// RequeueInNackOrder puts what comes back at the front as it comes, so that the last released is the first again. Where
	// receivers own keys, that holds for each key, and not for a tenure given up as a whole.
	RequeueInNackOrder bool
	// ReuseTags names deliveries by numbers that begin again with each tenure instead of by pointers.
	ReuseTags bool
	// NoHold takes SendAt away: the senders are no [driver.Holder].
	NoHold bool
	// NoCount leaves Delivered 0.
	NoCount bool
	// CreditPerQueue bounds what all receivers of a queue have in flight together; 0 is no bound.
	CreditPerQueue int
	// DelaysEatCredit counts what was released with a delay against CreditPerQueue until it is due.
	DelaysEatCredit bool
	// Dedup drops a record whose ID was sent to the topic within this time, with success, unless it is Unique;
	// 0 is never.
	Dedup time.Duration
}

// check names every field that is wrong.
func (c *Config) check() error {
	var errs []error
	natural := func(name string, v int) {
		if v < 0 {
			errs = append(errs, fmt.Errorf("%s is %d, which is negative", name, v))
		}
	}
	duration := func(name string, v time.Duration) {
		if v < 0 {
			errs = append(errs, fmt.Errorf("%s is %v, which is negative", name, v))
		}
	}
	natural("MaxMessages", c.MaxMessages)
	natural("MaxBytes", c.MaxBytes)
	natural("MaxDeadLetters", c.MaxDeadLetters)
	natural("MaxDeadLetterBytes", c.MaxDeadLetterBytes)
	natural("MaxBroadcast", c.MaxBroadcast)
	natural("MaxBroadcastBytes", c.MaxBroadcastBytes)
	natural("MaxRecord", c.MaxRecord)
	natural("SendBatch", c.SendBatch)
	duration("Lease", c.Lease)
	natural("Weak.CreditPerQueue", c.Weak.CreditPerQueue)
	duration("Weak.Dedup", c.Weak.Dedup)
	if c.Weak.RequeueBehindNew && c.Weak.RequeueInNackOrder {
		errs = append(errs, errors.New("Weak.RequeueBehindNew and Weak.RequeueInNackOrder exclude each other"))
	}
	if c.Weak.DelaysEatCredit && c.Weak.CreditPerQueue == 0 {
		errs = append(errs, errors.New("Weak.DelaysEatCredit needs Weak.CreditPerQueue"))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("mem: config: %w", errors.Join(errs...))
}

// fill gives zero fields their values.
func (c *Config) fill() {
	orElse := func(v *int, other int) {
		if *v == 0 {
			*v = other
		}
	}
	orElse(&c.MaxMessages, DefaultMaxMessages)
	orElse(&c.MaxBytes, DefaultMaxBytes)
	orElse(&c.MaxDeadLetters, c.MaxMessages)
	orElse(&c.MaxDeadLetterBytes, c.MaxBytes)
	orElse(&c.MaxBroadcast, c.MaxMessages)
	orElse(&c.MaxBroadcastBytes, c.MaxBytes)
	orElse(&c.MaxRecord, c.MaxBytes)
	c.MaxRecord = min(c.MaxRecord, c.MaxBytes)
	c.Poison = c.Poison || poisonAlways
}

// odd reports whether a weakness concerns the way of a record through the broker, which then leaves the fast path.
func (w *Weak) odd() bool {
	return w.AcceptLateSettlements || w.ReuseTags || w.NoCount || w.CreditPerQueue > 0 || w.Dedup > 0
}

// A bound is the most that one queue keeps ready.
type bound struct {
	messages int
	bytes    int
}

func (c *Config) bound(role driver.Role) bound {
	if role == driver.Main {
		return bound{c.MaxMessages, c.MaxBytes}
	}
	return bound{c.MaxDeadLetters, c.MaxDeadLetterBytes}
}
