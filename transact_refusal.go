package wherry

import (
	"hash/maphash"

	"github.com/wherryhq/wherry/driver"
)

// mostRefusals is how many messages are remembered whose publishes were refused for good, and that were not seen again.
const mostRefusals = 64 << 10

// An unsendable is a message whose handler published what can never be sent.
type unsendable struct {
	name refusedMessage
	why  error
}

// txRefusals are why what the handlers of some messages publish can never be sent. They are kept until a transaction with the
// message is committed: if one were forgotten as soon as its handler failed for it, two of them would take turns, and neither's
// failure would ever be committed. The receiver's lock guards them.
type txRefusals struct {
	seed maphash.Seed // set once
	why  map[refusedMessage]error
}

// A refusedMessage tells messages apart, also foreign ones, which have no id, and such as were given the same.
type refusedMessage struct {
	id        driver.ID
	published driver.Stamp
	hash      uint64 // of key and body
}

// name needs no lock. It is asked for before its delivery is settled or given back, after which a driver may use that again.
func (r *txRefusals) name(d *driver.Delivery) refusedMessage {
	var h maphash.Hash
	h.SetSeed(r.seed)
	_, _ = h.Write(d.Key)
	_ = h.WriteByte(0)
	_, _ = h.Write(d.Body)
	return refusedMessage{d.ID, d.Control.Published, h.Sum64()}
}

func (r *txRefusals) note(u unsendable) {
	if r.why == nil || len(r.why) >= mostRefusals {
		r.why = make(map[refusedMessage]error)
	}
	r.why[u.name] = u.why
}

func (r *txRefusals) of(d *driver.Delivery) error {
	if len(r.why) == 0 {
		return nil
	}
	return r.why[r.name(d)]
}

// answered are those that a transaction is about to answer for, to be forgotten once it is committed.
func (r *txRefusals) answered(units []unit) []refusedMessage {
	if len(r.why) == 0 {
		return nil
	}
	var names []refusedMessage
	for i := range units {
		if u := &units[i]; u.done {
			names = append(names, r.name(u.d))
		}
	}
	return names
}

func (r *txRefusals) forget(names []refusedMessage) {
	for _, n := range names {
		delete(r.why, n)
	}
}
