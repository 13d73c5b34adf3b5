package wherry

import (
	"container/heap"
	"context"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/keytable"
)

// A sequencer is what a worker has in place of its buffer where what fails stays with it: in a sequence, and for a broadcast.
// Every delivery stands behind its key, of which one is handled at a time. Lanes take the first of the key that has been ready
// longest, so that a key with very many messages does not come before others; which keys are handled beside each other is
// nothing but which are ready. In a broadcast each delivery is a key of its own.
//
// Ways of a key:
//
//	        ┌──────── the next of it ────────┐
//	        ▼                                │
//	new ► ready ► handled ► done ────────────┴► forgotten, if there is no more
//	        ▲        │  └─► moving ► done (to the dead letters)
//	        └─ waiting, until its retry is due
//
// The worker's lock guards all of it.
type sequencer struct {
	w       *worker
	spec    *sequenceSpec
	ordered bool // by key; else each delivery is its own
	keys    keytable.Table[sequenceKey]
	first   *seqNode // the ready ones, in order
	last    *seqNode
	ready   int     // how many they are
	due     dueKeys // the waiting ones
	timer   *time.Timer
	free    *seqDelivery
	spare   int

	waiting int // all deliveries, in hand or not
	bytes   int
	// suspicious while what came last was delivered often: it is received alone, see suspect.go.
	suspicious bool

	leaves string // why what is left goes back when the receiver is closed

	crowded int      // keys with as many as may wait
	example *seqNode // the last that became one
	loose   *seqNode // the keys of one delivery each, in a list

	receive   context.Context //nolint:containedctx // That of a Receive in progress, which ends when a key is due.
	interrupt context.CancelFunc
}

type seqNode = keytable.Node[sequenceKey]

// A keyState is where a key stands.
type keyState uint8

const (
	keyNew     keyState = iota
	keyReady            // among the ready ones
	keyHandled          // a lane has its first delivery
	keyWaiting          // for the retry of its first
	keyMoving           // its first is on its way to another topic
)

// A sequenceKey is a key with what there is of it.
type sequenceKey struct {
	state keyState
	lost  bool // head's tenure ended while it was handled or moving
	head  *driver.Delivery
	alone bool // head was received alone
	// shown is a copy of head with the attempts that were made in memory, nil at the first.
	shown *driver.Delivery
	err   error // of the last attempt
	next  *seqDelivery
	end   *seqDelivery
	n     int      // head included
	after *seqNode // the next ready one
	// Those that are in no table are in a list.
	listed      bool
	left, right *seqNode

	until driver.Stamp // of a waiting one
	place int          // among the waiting ones
}

// A seqDelivery waits behind its key's first.
type seqDelivery struct {
	d     *driver.Delivery
	alone bool
	next  *seqDelivery
}

const maxSpareDeliveries = 1024

func newSequencer(w *worker, s *sourceSpec) *sequencer {
	return &sequencer{w: w, spec: &s.sequence, ordered: s.manner == sequenced}
}

// takeInLocked puts what was received behind its keys.
func (s *sequencer) takeInLocked() {
	w := s.w
	alone := w.info.HasCount && s.inspectLocked()
	got := w.buf[w.head:]
	var hashes [keytable.AtOnce]uint64
	for rest := got; len(rest) > 0; {
		some := rest[:min(len(rest), keytable.AtOnce)]
		for i, d := range some {
			s.bytes += d.Size()
			if s.ordered { // in a broadcast no key is asked for
				hashes[i] = s.keys.Hash(d.Key)
			}
		}
		for i, d := range some {
			s.addLocked(d, hashes[i], alone)
		}
		rest = rest[len(some):]
	}
	s.waiting += len(got)
	clear(got)
	w.buf, w.head = w.buf[:0], 0
}

func (s *sequencer) addLocked(d *driver.Delivery, hash uint64, alone bool) {
	if !s.ordered || len(d.Key) == 0 {
		n := s.keys.Loose()
		n.Value.head, n.Value.alone, n.Value.n = d, alone, 1
		s.listLocked(n)
		s.beginLocked(n)
		return
	}
	n := s.keys.OfHash(d.Key, hash)
	k := &n.Value
	if k.head == nil {
		k.head, k.alone, k.n = d, alone, 1
		s.beginLocked(n)
		return
	}
	one := s.deliveryLocked(d)
	one.alone = alone
	if k.end == nil {
		k.next = one
	} else {
		k.end.next = one
	}
	k.end = one
	k.n++
	if k.n-1 == s.spec.perKey {
		s.crowded++
		s.example = n
		s.relieveLocked(n)
	}
}

// isCrowded reports whether as many wait behind the first as may.
func (s *sequencer) isCrowded(k *sequenceKey) bool { return k.n > s.spec.perKey }

func (s *sequencer) deliveryLocked(d *driver.Delivery) *seqDelivery {
	one := s.free
	if one == nil {
		return &seqDelivery{d: d}
	}
	s.free, s.spare = one.next, s.spare-1
	one.d, one.next = d, nil
	return one
}

// beginLocked readies the first delivery of a key, which is new to it.
func (s *sequencer) beginLocked(n *seqNode) {
	switch {
	case s.w.stopped:
		n.Value.state = keyNew
	case !s.asideLocked(n):
		s.readyLocked(n)
	}
}

func (s *sequencer) readyLocked(n *seqNode) {
	n.Value.state, n.Value.after = keyReady, nil
	if s.last == nil {
		s.first = n
	} else {
		s.last.Value.after = n
	}
	s.last = n
	s.ready++
}

// takeLocked gives the lane the first delivery of the key that has been ready longest, nil where none is.
func (s *sequencer) takeLocked(l *lane) *driver.Delivery {
	if s.first == nil {
		return nil
	}
	l.key = s.takeKeyLocked()
	return l.key.Value.head
}

// takeKeyLocked takes the key that has been ready longest.
func (s *sequencer) takeKeyLocked() *seqNode {
	n := s.first
	s.first = n.Value.after
	if s.first == nil {
		s.last = nil
	}
	s.ready--
	n.Value.state, n.Value.after = keyHandled, nil
	return n
}

// any reports whether a lane would find a delivery.
func (s *sequencer) any() bool { return s.first != nil }

// nextLocked is called when the first of a key is done, and goes on with the key.
func (s *sequencer) nextLocked(n *seqNode) {
	k := &n.Value
	s.dropHeadLocked(n)
	if k.head == nil {
		s.removeLocked(n)
		return
	}
	s.beginLocked(n)
}

// dropHeadLocked makes the next delivery of a key its first.
func (s *sequencer) dropHeadLocked(n *seqNode) {
	k := &n.Value
	s.waiting--
	s.bytes -= k.head.Size()
	if k.n-1 == s.spec.perKey {
		s.crowded--
	}
	k.n--
	k.head, k.shown, k.err, k.lost = nil, nil, nil, false
	one := k.next
	if one == nil {
		return
	}
	k.head, k.alone, k.next = one.d, one.alone, one.next
	if k.next == nil {
		k.end = nil
	}
	one.d = nil
	if s.spare < maxSpareDeliveries {
		one.next, s.free = s.free, one
		s.spare++
	}
}

// removeLocked forgets a key of which nothing is left.
func (s *sequencer) removeLocked(n *seqNode) {
	if n.Value.listed {
		s.unlistLocked(n)
	}
	if s.example == n {
		s.example = nil
	}
	s.keys.Retire(n)
}

func (s *sequencer) listLocked(n *seqNode) {
	n.Value.listed, n.Value.right = true, s.loose
	if s.loose != nil {
		s.loose.Value.left = n
	}
	s.loose = n
}

func (s *sequencer) unlistLocked(n *seqNode) {
	k := &n.Value
	if k.left != nil {
		k.left.Value.right = k.right
	} else {
		s.loose = k.right
	}
	if k.right != nil {
		k.right.Value.left = k.left
	}
}

// waitLocked lets a key wait for the retry of its first.
func (s *sequencer) waitLocked(n *seqNode, until driver.Stamp) {
	n.Value.state, n.Value.until = keyWaiting, until
	heap.Push(&s.due, n)
	if s.due[0] == n {
		s.armLocked()
	}
	if s.isCrowded(&n.Value) {
		s.relieveLocked(n)
	}
}

// undueLocked takes a key out of the waiting ones.
func (s *sequencer) undueLocked(n *seqNode) { heap.Remove(&s.due, n.Value.place) }

// restingLocked is how many deliveries wait for a retry that is not due, the later ones of the key included. Nobody is to do
// anything for them.
func (s *sequencer) restingLocked(now time.Time) int {
	n, at := 0, s.w.r.clock.of(now)
	for _, key := range s.due {
		if key.Value.until > at {
			n += key.Value.n
		}
	}
	return n
}

func (s *sequencer) armLocked() {
	if len(s.due) == 0 || s.w.done {
		return
	}
	wait := max(time.Until(s.w.r.clock.time(s.due[0].Value.until)), 0)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.wakeDue)
	} else {
		s.timer.Reset(wait)
	}
}

// wakeDue readies the keys whose retry is due.
func (s *sequencer) wakeDue() {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.r.clock.of(time.Now())
	for len(s.due) > 0 && s.due[0].Value.until <= now {
		n, _ := heap.Pop(&s.due).(*seqNode)
		s.readyLocked(n)
	}
	s.armLocked()
	s.rouseLocked()
}

// rouseLocked finds a lane for what became ready while nobody looked: one that is parked, or else the one that receives.
func (s *sequencer) rouseLocked() {
	w := s.w
	if s.first == nil || w.stopped {
		return
	}
	if len(w.idle) > 0 {
		w.wakeLocked()
	} else if w.receiving && s.interrupt != nil {
		s.interrupt()
	}
}

// contextLocked is that of the next Receive, which ends with the intake or when a key becomes ready that no other lane would
// take. It is used again until it ended.
func (s *sequencer) contextLocked(intake context.Context) context.Context {
	if s.receive == nil || s.receive.Err() != nil {
		s.receive, s.interrupt = context.WithCancel(intake)
	}
	return s.receive
}

// fullLocked reports whether so much waits that no more is received, or a suspect is to be left alone.
func (s *sequencer) fullLocked() bool {
	return s.crampedLocked() || s.suspicious && s.activeLocked()
}

// crampedLocked reports whether as much waits as may.
func (s *sequencer) crampedLocked() bool {
	return s.ordered && (s.crowded > 0 || s.waiting >= s.spec.total || s.bytes >= s.spec.bytes || s.w.r.aside.full())
}

// stopLocked ends the retries, for a reason. What has not been handled is neither settled nor given back one by one, which would put
// a key out of order on most brokers: closing the receiver gives it back as a whole. It returns how many are back by now: those of
// a receiver that ended.
func (s *sequencer) stopLocked(why string) int {
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.interrupt != nil {
		s.interrupt()
	}
	n := 0
	if s.w.tenures.all {
		n = s.untouchedLocked()
	} else {
		s.leaves = why
	}
	s.eachLocked(func(n *seqNode) {
		if n.Value.state == keyReady || n.Value.state == keyWaiting {
			n.Value.state, n.Value.after = keyNew, nil
		}
	})
	s.first, s.last, s.ready, s.due = nil, nil, 0, nil
	return n
}

// untouchedLocked is how many deliveries no handler has.
func (s *sequencer) untouchedLocked() int {
	n := s.waiting
	for _, l := range s.w.lanes {
		if l.key != nil {
			n--
		}
	}
	return n
}

// eachLocked calls f for every key. It may remove it.
func (s *sequencer) eachLocked(f func(n *seqNode)) {
	for n := s.loose; n != nil; {
		next := n.Value.right
		f(n)
		n = next
	}
	s.keys.All(func(n *seqNode) bool {
		f(n)
		return true
	})
}

// dueKeys is a heap of waiting keys, the first due first.
type dueKeys []*seqNode

func (h dueKeys) Len() int           { return len(h) }
func (h dueKeys) Less(i, j int) bool { return h[i].Value.until < h[j].Value.until }
func (h dueKeys) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].Value.place, h[j].Value.place = i, j
}

func (h *dueKeys) Push(x any) {
	n, _ := x.(*seqNode)
	n.Value.place = len(*h)
	*h = append(*h, n)
}

func (h *dueKeys) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return n
}
