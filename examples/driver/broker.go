package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// A Broker is a connection to a Server.
type Broker struct {
	server *Server

	// Guarded by the lock of the server.
	closed    bool
	receivers map[*receiver]struct{}
}

// What it can do is found in its methods. These lines only keep a method from being lost by a mistake in writing.
var (
	_ driver.Queuer    = (*Broker)(nil)
	_ driver.Inspector = (*Broker)(nil)
)

// Dial returns a connection. It is the concrete type, so that what the broker cannot do does not compile.
func Dial(s *Server) *Broker {
	return &Broker{server: s, receivers: map[*receiver]struct{}{}}
}

// OpenSender prepares to send to a queue.
func (b *Broker) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	if err := b.open(ctx, t.Topic, t.Group, t.Topology); err != nil {
		return nil, err
	}
	return &sender{b: b, topic: t.Topic.Name}, nil
}

// OpenQueue opens one competing consumer of queues.
func (b *Broker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	r := &receiver{b: b, prefetch: s.Prefetch, hand: map[uint64]held{}}
	for _, t := range s.Topics {
		if err := b.open(ctx, t, s.Group, s.Topology); err != nil {
			return nil, err
		}
		r.topics = append(r.topics, t.Name)
	}
	b.receivers[r] = struct{}{}
	return r, nil
}

// open does for one topic what its topology says, and refuses what has no place here.
func (b *Broker) open(ctx context.Context, t driver.Topic, group string, mode driver.Topology) error {
	switch {
	case b.closed:
		return b.over("broker")
	case ctx.Err() != nil:
		return ctx.Err()
	case t.Fanout || group != "":
		return fmt.Errorf("example: topic %q: there are queues only, no fan-outs and no groups: %w", t.Name, errors.ErrUnsupported)
	case mode == driver.Declare:
		b.server.declare(t.Name)
	case mode == driver.Verify && b.server.queues[t.Name] == nil:
		return fmt.Errorf("example: queue %q: %w", t.Name, driver.ErrNoTopic)
	}
	return nil
}

// over says what was closed: the broker, or else what was opened from it.
func (b *Broker) over(what string) error {
	if b.closed {
		what = "broker"
	}
	return fmt.Errorf("example: %s %w", what, driver.ErrClosed)
}

// Depth counts. A broker that forgets at exit needs it, or nobody could tell at a stop whether it is empty. How old the oldest
// message is the server does not know.
func (b *Broker) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	var d driver.Depth
	for _, t := range s.Topics {
		if err := b.open(ctx, t, s.Group, driver.Verify); err != nil { // nothing is made for a question
			return driver.Depth{}, err
		}
		q := b.server.queues[t.Name]
		d.Ready += int64(len(q.ready))
		d.InFlight += int64(q.inHand)
	}
	return d, nil
}

// Close ends the connection and everything that was opened from it.
func (b *Broker) Close(context.Context) error {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.closed = true
	for r := range b.receivers {
		r.end()
	}
	return nil
}
