package mem

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// An ended tenure, and whom to tell.
type ended struct {
	r   *receiver
	rev driver.Revocation
}

// Revoke ends the tenure of every receiver of the topic, as a rebalance does. For grace the receivers may settle what
// they hold, and take nothing; then, or once they say that they are done, what they still hold is given to others and
// they go on with a new tenure. Without grace the tenure is lost at once. Revoke returns when all have been told, and
// how many those are; it waits for nothing else.
func (f *Faults) Revoke(topic string, grace time.Duration) int {
	told := 0
	for _, r := range f.b.openReceivers() {
		told += r.revoke(topic, grace)
	}
	return told
}

// RevokeReceiver is [Faults.Revoke] for one [driver.Receiver] or [driver.TxReceiver] of this broker and all its topics. A
// closed one has no tenure to end.
func (f *Faults) RevokeReceiver(r interface{ Info() driver.Info }, grace time.Duration) error {
	var one *receiver
	switch r := r.(type) {
	case *receiver:
		one = r
	case leased:
		one = r.receiver
	case *txReceiver:
		one = r.r
	case leasedTx:
		one = r.r
	default:
		return fmt.Errorf("mem: a %T is no receiver of this broker", r)
	}
	if one.b != f.b {
		return errors.New("mem: the receiver belongs to another broker")
	}
	one.revoke("", grace)
	return nil
}

// revoke ends the tenures of the receiver in a topic, or in all, and returns how many.
func (r *receiver) revoke(topic string, grace time.Duration) int {
	var all []ended
	for _, m := range r.currentMembers() {
		if topic != "" && m.q.topic != topic {
			continue
		}
		m.q.mu.Lock()
		switch {
		case m.q.over != nil || m.gone || m.ending != nil:
		case grace <= 0:
			all = append(all, m.lose())
		default:
			all = append(all, m.endAfter(grace))
		}
		m.q.unlock()
	}
	tellAll(all)
	return len(all)
}

// lose ends the tenure at once. The caller holds the lock.
func (m *member) lose() ended {
	rev := driver.Revocation{Tenure: m.tenure, Until: time.Now(), Lost: true}
	m.stopEnding()
	m.giveBack()
	return ended{m.r, rev}
}

// endAfter ends the tenure after grace, or when the engine is done with it. The caller holds the lock.
func (m *member) endAfter(grace time.Duration) ended {
	tenure := m.tenure
	m.arrive()
	m.q.brisk.left(m)
	var once sync.Once
	finish := func() { once.Do(func() { m.finish(tenure) }) }
	m.ending = time.AfterFunc(grace, finish)
	return ended{m.r, driver.Revocation{Tenure: tenure, Until: time.Now().Add(grace), Done: finish}}
}

// finish gives back what is left of a tenure that was ending.
func (m *member) finish(tenure uint64) {
	m.q.mu.Lock()
	if m.tenure == tenure && m.q.over == nil && !m.gone {
		m.stopEnding()
		m.giveBack()
	}
	m.q.unlock()
	m.r.rouse()
}

func (m *member) stopEnding() {
	if m.ending != nil {
		m.ending.Stop()
		m.ending = nil
	}
}

func tellAll(all []ended) {
	for _, e := range all {
		e.r.tell(e.rev)
	}
}

// tell sends a revocation, unless the receiver closes first.
func (r *receiver) tell(rev driver.Revocation) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.notifying.Add(1)
	r.mu.Unlock()
	defer r.notifying.Done()
	select {
	case r.revocations <- rev:
	case <-r.done:
	}
}

// Revocations brings the tenures that the fault switches ended. Nothing else ends one while the receiver lives.
func (r *receiver) Revocations() <-chan driver.Revocation { return r.revocations }

func (b *Broker) openReceivers() []*receiver {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]*receiver, 0, len(b.receivers))
	for r := range b.receivers {
		all = append(all, r)
	}
	return all
}

func (r *receiver) currentMembers() []*member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members
}
