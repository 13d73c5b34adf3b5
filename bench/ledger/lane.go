package ledger

import (
	"slices"
	"sync/atomic"
	"time"
)

const (
	// tellEvery is how often a lane tells how far it is. Telling costs as much as several notes.
	tellEvery = 64
	// chunk is how many numbers a lane has room for at a time: a page's worth of them, many times over.
	chunk = 16 << 10
)

// A Lane is the part of a ledger that one handler writes. One goroutine writes it at a time.
type Lane struct {
	ids   []uint32 // the current chunk
	times []int64  // as long as ids, or empty while no times are noted
	tail  uint32   // the first number that is counted with its time
	quiet int32    // notes until the next telling
	full  []filled // chunks before the current one
	hold  func()
	last  time.Time

	_    [64]byte // what others read stands on a line of its own
	told atomic.Int64
	_    [64]byte
}

type filled struct {
	ids   []uint32
	times []int64
}

// Note writes down that a message was handled.
func (n *Lane) Note(id uint32) {
	if len(n.ids) == cap(n.ids) {
		n.grow()
	}
	n.ids = append(n.ids, id)
	n.quiet--
	if n.quiet <= 0 || id >= n.tail {
		n.tell(id)
	}
}

// NoteAt is Note with a time, in any unit and from any origin. A lane has either all of its notes with a time or none.
func (n *Lane) NoteAt(id uint32, at int64) {
	if len(n.ids) == cap(n.ids) {
		n.grow()
		n.times = make([]int64, 0, chunk)
	}
	n.times = append(n.times, at)
	n.Note(id)
}

// Tell makes known what was noted, as every 64th note does. The writer of the lane calls it.
func (n *Lane) Tell() {
	n.quiet = tellEvery
	n.told.Store(int64(n.count()))
}

// tell makes the count of the lane known, and the time of its last message.
func (n *Lane) tell(id uint32) {
	if id >= n.tail {
		n.last = time.Now()
	}
	n.Tell()
	if hold := n.hold; hold != nil {
		n.hold = nil
		hold()
	}
}

func (n *Lane) grow() {
	if len(n.ids) > 0 {
		n.full = append(n.full, filled{n.ids, n.times})
	}
	n.ids = make([]uint32, 0, chunk)
	n.times = nil
}

func (n *Lane) count() int { return len(n.full)*chunk + len(n.ids) }

func (n *Lane) each(f func(id uint32, at int64)) {
	for _, c := range append(slices.Clip(n.full), filled{n.ids, n.times}) {
		for i, id := range c.ids {
			var at int64
			if len(c.times) > 0 {
				at = c.times[i]
			}
			f(id, at)
		}
	}
}
