package mem

import (
	"fmt"
	"strings"

	"github.com/wherryhq/wherry/driver"
)

// Cut says how far away the broker is. The zero Cut is that it is there.
type Cut uint8

const (
	// Connected is no cut.
	Connected Cut = iota
	// SoftCut is a link that the client mends without telling: Receive and Send wait, and no tenure ends.
	SoftCut
	// HardCut is a connection that died: Receive fails with [driver.ErrDisconnected], every tenure ends at once, and
	// what was in hand is given to others when the broker is back.
	HardCut
)

// String returns "connected", "soft cut" or "hard cut".
func (c Cut) String() string {
	switch c {
	case Connected:
		return "connected"
	case SoftCut:
		return "soft cut"
	case HardCut:
		return "hard cut"
	default:
		return "unknown cut"
	}
}

var errAway = fmt.Errorf("mem: %w", driver.ErrDisconnected)

// Disconnect puts the broker out of reach until [Faults.Reconnect]. Meanwhile Send waits within its context, opening and
// asking fail with [driver.ErrDisconnected], settlements fail with it too and may be tried again, and receivers say
// "broker away". Disconnect(Connected) is Reconnect.
func (f *Faults) Disconnect(how Cut) {
	f.mu.Lock()
	f.cut = how
	f.changed()
	f.mu.Unlock()
	if how == HardCut {
		f.b.loseAll()
	}
	f.b.rouseAll()
}

// Reconnect brings the broker back. Its queues are as they were.
func (f *Faults) Reconnect() { f.Disconnect(Connected) }

// away returns why nothing can be reached, or nil.
func (f *Faults) away() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut == Connected {
		return nil
	}
	return errAway
}

// loseAll ends every tenure of every receiver.
func (b *Broker) loseAll() {
	var lost []ended
	for _, r := range b.openReceivers() {
		for _, m := range r.currentMembers() {
			m.q.mu.Lock()
			if m.q.over == nil && !m.gone {
				lost = append(lost, m.lose())
			}
			m.q.unlock()
		}
	}
	tellAll(lost)
}

// WipeTopology makes every topic, queue and record vanish, as a broker does that starts again without its data. What is
// in hand is lost. Receivers fail once with [driver.ErrDisconnected]; their next Receive declares what they need again,
// or fails with [driver.ErrNoTopic] where they may not. Senders do so in their next Send.
func (f *Faults) WipeTopology() {
	b := f.b
	b.mu.Lock()
	topics := b.topics
	if topics != nil {
		b.topics = map[string]*topic{}
	}
	b.mu.Unlock()
	var lost []ended
	for _, t := range topics {
		t.gone.Store(true)
		for _, q := range t.all() {
			lost = append(lost, q.end(errWiped)...)
		}
	}
	tellAll(lost)
	b.rouseAll()
}

// Inject puts a record on a topic as a foreign program would: in every group of a fan-out, without waiting for room, and
// without Control. Reserved headers are read as a backend reads them off the wire, and are no headers of the delivery. It
// fails with [driver.ErrNoTopic] when the topic is unknown.
func (f *Faults) Inject(topic string, r driver.Record) error {
	b := f.b
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[topic]
	if t == nil {
		return fmt.Errorf("mem: topic %q: %w", topic, driver.ErrNoTopic)
	}
	foreign(&r)
	size := r.Size()
	for _, q := range t.all() {
		q.mu.Lock()
		e := q.spare(size)
		e.fill(&r, size)
		q.push(e)
		if q.missed != nil {
			q.trim()
		}
		q.unlock()
	}
	return nil
}

// foreign reads the reserved headers of r and takes them off.
func foreign(r *driver.Record) {
	r.Control = driver.Control{}
	headers := r.Headers
	r.Headers = nil
	for _, h := range headers {
		switch {
		case !strings.HasPrefix(h.Key, driver.ReservedPrefix):
			r.Headers = append(r.Headers, h)
		case h.Key == driver.ControlHeader:
			r.Control, _ = driver.ParseControl(h.Value) // what does not parse says nothing
		case h.Key == driver.IDHeader && r.ID.IsZero():
			r.ID.Text = h.Value
		case h.Key == driver.ContentTypeHeader && r.ContentType == "":
			r.ContentType = h.Value
		}
	}
}
