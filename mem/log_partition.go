package mem

import (
	"bytes"
	"slices"
	"sort"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A partition is a log: records with positions that grow by one. The broker's lock guards it.
type partition struct {
	t       *logTopic
	index   int
	name    string
	history bool // what is finished may still be read, by broadcasts

	base    uint64       // the position of the first record
	records []*logRecord // from base on
	bytes   int
	cursors []*cursor  // who reads it
	waiting []*logWait // senders, the first to come first
}

// A logRecord is a record as the log keeps it. It never changes, and outlives its place in the log while it is in hand.
type logRecord struct {
	rec  driver.Record
	size int
	at   time.Time // when it came
}

// A logWait is a sender that waits for room.
type logWait struct {
	ready chan struct{} // closed when it is its turn
	woken bool
}

func newLogRecord(r *driver.Record, size int) *logRecord {
	c := *r
	c.Key, c.Body, c.Headers, c.Control = bytes.Clone(r.Key), bytes.Clone(r.Body), slices.Clone(r.Headers), r.Control.Clone()
	return &logRecord{rec: c, size: size}
}

// end is the position above the last record.
func (p *partition) end() uint64 { return p.base + uint64(len(p.records)) }

func (p *partition) at(position uint64) *logRecord { return p.records[position-p.base] }

// since is the first position whose record came at a time or later.
func (p *partition) since(t time.Time) uint64 {
	i := sort.Search(len(p.records), func(i int) bool { return !p.records[i].at.Before(t) })
	return p.base + uint64(i)
}

// push appends a record and wakes who reads.
func (p *partition) push(r *logRecord) {
	r.at = time.Now()
	p.records = append(p.records, r)
	p.bytes += r.size
	for _, c := range p.cursors {
		if c.share.owner != nil {
			c.share.owner.rouse()
		}
	}
}

// makeRoom drops what may be dropped until one more record fits, and reports whether it does. An empty partition takes any.
func (p *partition) makeRoom(size int) bool {
	c := &p.t.b.cfg
	for len(p.records) > 0 && (len(p.records) >= c.MaxMessages || p.bytes+size > c.MaxBytes) {
		if !c.DropOldest && p.needed() {
			return false
		}
		p.drop()
	}
	return true
}

// needed reports whether a group has not finished the oldest record.
func (p *partition) needed() bool {
	return slices.ContainsFunc(p.cursors, func(c *cursor) bool { return c.share.group != nil && c.commit <= p.base })
}

// drop takes the oldest record out of the log. Whoever was to read it passes it over.
func (p *partition) drop() {
	p.bytes -= p.records[0].size
	p.records[0] = nil
	p.records = p.records[1:]
	p.base++
	for _, c := range p.cursors {
		c.passOver()
	}
}

// settled notes that a commit moved: what nobody reads any more goes, and senders get its room.
func (p *partition) settled() {
	for !p.history && len(p.records) > 0 && !p.needed() {
		p.drop()
	}
	p.admit()
}

// admit gives the first sender that waits its turn, if there is any room.
func (p *partition) admit() {
	if len(p.waiting) == 0 || p.waiting[0].woken || !p.makeRoom(0) {
		return
	}
	p.waiting[0].woken = true
	close(p.waiting[0].ready)
}

// wait puts a sender last among those that wait.
func (p *partition) wait() *logWait {
	w := &logWait{ready: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	return w
}

// leave takes a sender out of those that wait. The next may have the room that was for it.
func (p *partition) leave(w *logWait) {
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.admit()
	}
}

// wakeSenders has all that wait look for the topic again.
func (p *partition) wakeSenders() {
	for _, w := range p.waiting {
		if !w.woken {
			w.woken = true
			close(w.ready)
		}
	}
}
