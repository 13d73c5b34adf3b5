package ledger

import (
	"slices"
	"sync/atomic"
	"time"
)

const (
	// tellEvery is how often a lane tells how far it is. Telling costs as much as several notes.
	tellEvery = 64
	// chunk is how many numbers a lane has room for at a time, a multiple of tellEvery.
	chunk = 16 << 10
)

// A Lane is the part of a ledger that one handler writes. One goroutine writes it at a time.
type Lane struct {
	page *[chunk]uint32 // the current chunk
	next uint           // how many were noted
	stop uint           // the number of notes at which it tells again, at the end of a page at the latest
	tail uint32         // the first number that is counted with its time
	end  uint32         // and the first after it that has none

	times *[chunk]int64 // of the current page, nil while no times are noted
	full  []filled      // pages before the current one
	hold  func()
	last  time.Time

	_    [64]byte // what others read stands on a line of its own
	told atomic.Int64
	_    [64]byte
}

type filled struct {
	ids   *[chunk]uint32
	times *[chunk]int64
}

func newLane(tail, end uint32, hold func()) *Lane {
	return &Lane{page: new([chunk]uint32), stop: 1, tail: tail, end: end, hold: hold}
}

// Note writes down that a message was handled.
func (n *Lane) Note(id uint32) {
	n.page[n.next%chunk] = id
	n.next++
	if n.next >= n.stop || id >= n.tail {
		n.tell(id)
	}
}

// NoteAt is Note with a time, in any unit and from any origin. A lane has either all of its notes with a time or none.
func (n *Lane) NoteAt(id uint32, at int64) {
	if n.times == nil {
		n.times = new([chunk]int64)
	}
	n.times[n.next%chunk] = at
	n.Note(id)
}

// Tell makes known what was noted, as every 64th note does. The writer of the lane calls it.
func (n *Lane) Tell() { n.told.Store(int64(n.next)) }

// tell makes the count of the lane known, and the time of its last message, and turns a page that is full.
func (n *Lane) tell(id uint32) {
	if id >= n.tail && id < n.end {
		n.last = time.Now()
	}
	n.Tell()
	n.stop = n.next - n.next%tellEvery + tellEvery
	if n.next%chunk == 0 {
		n.full = append(n.full, filled{n.page, n.times})
		n.page = new([chunk]uint32)
		n.times = nil
	}
	if hold := n.hold; hold != nil {
		n.hold = nil
		hold()
	}
}

func (n *Lane) each(f func(id uint32, at int64)) {
	left := n.next
	for _, p := range append(slices.Clip(n.full), filled{n.page, n.times}) {
		for i, id := range p.ids[:min(left, chunk)] {
			var at int64
			if p.times != nil {
				at = p.times[i]
			}
			f(id, at)
		}
		left -= min(left, chunk)
	}
}
