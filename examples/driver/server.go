package main

import (
	"cmp"
	"slices"
	"sync"

	"github.com/wherryhq/wherry/driver"
)

// A Server is the message system that the driver is for: queues in memory, without a bound, which end with the process. It stands
// for a server behind a network, so it knows of bytes and headers only, and counts deliveries as many servers do.
type Server struct {
	mu      sync.Mutex // guards all of it, and the fields of connections, senders and receivers that say so
	queues  map[string]*queue
	last    uint64        // the latest number, of messages and of deliveries
	changed chan struct{} // closed, and made anew, when whoever waits has to look again
}

// A queue has what is ready, and knows how much else is in hand.
type queue struct {
	ready  []*message // in the order of their numbers
	inHand int
}

// A message is what the server keeps.
type message struct {
	number    uint64
	key, body []byte
	headers   []driver.Header
	delivered int
}

// NewServer returns a server without queues.
func NewServer() *Server {
	return &Server{queues: map[string]*queue{}, changed: make(chan struct{})}
}

// number returns one that was never given before. The lock is held, here and in all that follows.
func (s *Server) number() uint64 {
	s.last++
	return s.last
}

// wake has everybody who waits look again.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// declare makes a queue where it is missing.
func (s *Server) declare(name string) *queue {
	if s.queues[name] == nil {
		s.queues[name] = &queue{}
	}
	return s.queues[name]
}

// put appends a message to a queue.
func (s *Server) put(q *queue, m *message) {
	m.number = s.number()
	q.ready = append(q.ready, m)
	s.wake()
}

// take takes the first message of a queue that has one.
func (q *queue) take() *message {
	m := q.ready[0]
	q.ready[0] = nil // or the array would keep it
	q.ready = q.ready[1:]
	q.inHand++
	m.delivered++
	return m
}

// giveBack puts a message that was taken at its place again.
func (s *Server) giveBack(q *queue, m *message) {
	i, _ := slices.BinarySearchFunc(q.ready, m.number, func(other *message, n uint64) int { return cmp.Compare(other.number, n) })
	q.ready = slices.Insert(q.ready, i, m)
	q.inHand--
	s.wake()
}
