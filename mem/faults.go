package mem

import (
	"sync"
	"time"
)

// Faults makes a broker misbehave while it runs. It is got from [Broker.Faults]; all methods may be called concurrently
// and take effect for calls that begin afterwards and for those that wait.
//
// Where a method takes a topic, the empty name is every topic, those that come later too; a fan-out's name is all its
// groups. Where one takes a number, the fault happens to the next n and is over; a negative number is every one until
// the method is called again, and 0 switches the fault off.
type Faults struct {
	b *Broker

	mu      sync.Mutex // guards the fields below; taken after every other, held over straight-line code
	cut     Cut
	topics  map[string]*topicFaults
	change  chan struct{} // closed and replaced when something ends that a call may wait for
	dropped int
	over    bool
}

// topicFaults are the faults of one topic, or of all.
type topicFaults struct {
	stalled  bool
	paused   bool
	withheld bool
	delay    time.Duration
	slow     time.Duration
	reject   int
	shuffle  *shuffle

	cutBefore  counter
	cutAfter   counter
	refuse     counter
	refusal    error
	drop       counter
	duplicate  counter
	failSettle counter
	settleCut  counter // before it is applied
	settleLost counter // after
}

// A counter says how often something is still to happen; negative is for ever.
type counter int

// next reports whether it happens now.
func (c *counter) next() bool {
	if *c == 0 {
		return false
	}
	if *c > 0 {
		*c--
	}
	return true
}

// none reports whether no fault is switched on.
func (t *topicFaults) none() bool {
	return !t.stalled && !t.paused && !t.withheld && t.delay == 0 && t.slow == 0 && t.reject == 0 && t.shuffle == nil &&
		t.cutBefore == 0 && t.cutAfter == 0 && t.refuse == 0 && t.drop == 0 && t.duplicate == 0 && t.failSettle == 0 &&
		t.settleCut == 0 && t.settleLost == 0
}

// Faults returns the switches of b.
func (b *Broker) Faults() *Faults { return &b.faults }

// Clear switches every fault off and connects again.
func (f *Faults) Clear() {
	f.mu.Lock()
	f.cut = Connected
	f.topics = nil
	f.changed()
	f.mu.Unlock()
	f.b.rouseAll()
}

// set changes the faults of a topic.
func (f *Faults) set(topic string, change func(*topicFaults)) {
	f.mu.Lock()
	if f.topics == nil {
		f.topics = map[string]*topicFaults{}
	}
	t := f.topics[topic]
	if t == nil {
		t = &topicFaults{}
		f.topics[topic] = t
	}
	change(t)
	f.changed()
	f.mu.Unlock()
	f.b.rouseAll()
}

// changed wakes the calls that wait for a change, and puts the broker on or off the fast path. The caller holds the
// lock.
func (f *Faults) changed() {
	if f.change != nil {
		close(f.change)
		f.change = nil
	}
	f.settleDown()
}

// settleDown puts the broker on the fast path when no fault is left. The caller holds the lock.
func (f *Faults) settleDown() {
	calm := f.cut == Connected && !f.b.cfg.Weak.odd()
	for name, t := range f.topics {
		if t.none() {
			delete(f.topics, name)
		} else {
			calm = false
		}
	}
	f.b.calm.Store(calm)
}

// waitForChange returns a channel that is closed at the next change. The caller holds the lock.
func (f *Faults) waitForChange() <-chan struct{} {
	if f.over {
		over := make(chan struct{}) // which is nobody else's to close
		close(over)
		return over
	}
	if f.change == nil {
		f.change = make(chan struct{})
	}
	return f.change
}

// any reports whether a condition holds of the faults of the topic or of all topics, and uses up what is counted. The caller
// holds the lock.
func (f *Faults) any(topic string, is func(*topicFaults) bool) bool {
	for _, name := range []string{topic, ""} {
		if t := f.topics[name]; t != nil && is(t) {
			if t.none() {
				f.settleDown()
			}
			return true
		}
	}
	return false
}

// happens is any for those who do not hold the lock.
func (f *Faults) happens(topic string, is func(*topicFaults) bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.any(topic, is)
}

// end wakes who waits, for good.
func (f *Faults) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.changed()
}

// rouseAll makes every receiver look again.
func (b *Broker) rouseAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.receivers {
		r.rouse()
	}
}
