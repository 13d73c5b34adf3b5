// Package ledger accounts for the messages of a benchmark: which came, how often, and whether in order. Each handler
// that runs at once writes down the numbers of its messages in a lane of its own, which costs a few instructions, and the
// lanes are merged when the window is over. The ledger knows nothing of a broker or an engine, so that what was lost on
// the way is missing from it, and what came twice is in it twice.
package ledger

import (
	"sync"
	"time"

	"github.com/wherryhq/wherry/bench/document"
)

// A Ledger is the account of one run, whose messages are numbered from 0. It is made by [New].
type Ledger struct {
	tail uint32
	end  uint32 // the first number that is counted and not timed

	mu    sync.Mutex // guards the fields below
	lanes []*Lane
}

// exactTail is how many of the last messages are counted one by one and with their time.
const exactTail = 4096

// New returns an empty ledger for about this many messages. More may come.
func New(messages int) *Ledger { return NewTimed(messages, messages) }

// NewTimed is New for messages of which only the first so many are timed: those that Last looks at.
func NewTimed(messages, timed int) *Ledger {
	timed = min(timed, messages)
	return &Ledger{tail: uint32(max(0, timed-exactTail)), end: uint32(timed)}
}

// Lane returns a new lane. It may be called from any goroutine. What hold does, which may be nil, happens within the first
// Note of the lane, after it was counted.
func (l *Ledger) Lane(hold func()) *Lane {
	n := newLane(l.tail, l.end, hold)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes = append(l.lanes, n)
	return n
}

// Lanes is how many lanes there are.
func (l *Ledger) Lanes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lanes)
}

// Told is how many messages the lanes have told of, repetitions included. Each lane may know of up to 63 more, unless one
// of the last 4096 messages passed it. It may be called while lanes write.
func (l *Ledger) Told() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum int64
	for _, n := range l.lanes {
		sum += n.told.Load()
	}
	return sum
}

// Untold is the most messages that are noted and not in Told.
func (l *Ledger) Untold() int64 { return int64(l.Lanes()) * (tellEvery - 1) }

// Last is when the last of the last 4096 messages that are timed was noted, the zero time if none was. No lane may be writing.
func (l *Ledger) Last() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	var last time.Time
	for _, n := range l.lanes {
		if n.last.After(last) {
			last = n.last
		}
	}
	return last
}

// Entries calls f with everything that was noted, lane by lane, in the order of the lane. The time is 0 where none was
// noted. No lane may be writing.
func (l *Ledger) Entries(f func(id uint32, at int64)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.lanes {
		n.each(f)
	}
}

// Busiest is the share of all messages that the busiest lane had, 0 without messages. No lane may be writing.
func (l *Ledger) Busiest() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all, most uint
	for _, n := range l.lanes {
		all += n.next
		most = max(most, n.next)
	}
	return float64(most) / float64(max(all, 1))
}

// An Order is what was promised of the order in which messages come.
type Order struct {
	// Promised tells whether anything was. Only then are messages counted as reordered.
	Promised bool
	// Streams is the number of publishers that published in turn: message i belongs to stream i modulo Streams. The order
	// holds within a stream. 0 is one.
	Streams int
}

// Judge merges the lanes and says what became of the messages 0 to published-1. A message with a number that was never
// published counts as duplicated. No lane may be writing.
func (l *Ledger) Judge(published int64, order Order) document.Ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	result := document.Ledger{Published: published, Ordered: order.Promised}
	seen := make([]uint64, published/64+1)
	streams := max(order.Streams, 1)
	next := make([]int64, streams)
	for _, n := range l.lanes {
		clear(next)
		n.each(func(id uint32, _ int64) {
			if int64(id) >= published {
				result.Duplicated++
				return
			}
			word, bit := id/64, uint64(1)<<(id%64)
			if seen[word]&bit != 0 {
				result.Duplicated++
				return
			}
			seen[word] |= bit
			result.Handled++
			if !order.Promised {
				return
			}
			stream := int(id) % streams
			if int64(id) < next[stream] {
				result.Reordered++
				return
			}
			next[stream] = int64(id)
		})
	}
	result.Lost = published - result.Handled
	return result
}
