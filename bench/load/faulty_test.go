package load

import (
	"context"
	"sync/atomic"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A fault is what a faulty broker does to one message.
type fault string

const (
	none   fault = "none"
	lose   fault = "lose"    // it says that it has the message, and does not
	repeat fault = "repeat"  // it has the message twice
	swap   fault = "swap"    // it puts the message behind the next
	early  fault = "early"   // it settles the message before its handler has it
	hushed fault = "early, " // the same, and it says nothing when it is settled again
)

// A faulty broker is a good one, but for what it does to one message of a topic.
type faulty struct {
	*mem.Broker
	fault fault
	topic string
	at    int64             // the number of the message, in the order of sends or deliveries
	keys  func(string) bool // those whose deliveries are counted, all if nil

	sent     atomic.Int64
	received atomic.Int64
}

func (f *faulty) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	s, err := f.Broker.OpenSender(ctx, t)
	if err != nil || t.Topic.Name != f.topic {
		return s, err
	}
	return &faultySender{Sender: s, f: f}, nil
}

func (f *faulty) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := f.Broker.OpenQueue(ctx, s)
	return f.receiver(s, r), err
}

func (f *faulty) OpenGroup(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := f.Broker.OpenGroup(ctx, s)
	return f.receiver(s, r), err
}

func (f *faulty) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := f.Broker.OpenSequence(ctx, s)
	return f.receiver(s, r), err
}

func (f *faulty) OpenBroadcast(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := f.Broker.OpenBroadcast(ctx, s)
	return f.receiver(s, r), err
}

func (f *faulty) receiver(s driver.Source, r driver.Receiver) driver.Receiver {
	if r == nil || s.Topics[0].Name != f.topic {
		return r
	}
	return &faultyReceiver{
		Receiver: r, Revoker: r.(driver.Revoker), Waiter: r.(driver.Waiter), Sharer: r.(driver.Sharer), f: f,
	}
}

type faultySender struct {
	driver.Sender
	f    *faulty
	kept []driver.Record // behind the next
}

func (s *faultySender) Send(ctx context.Context, batch []driver.Record) error {
	for i := range batch {
		rec := batch[i]
		var send []driver.Record
		switch hit := s.f.sent.Add(1)-1 == s.f.at; {
		case hit && s.f.fault == lose:
			continue
		case hit && s.f.fault == repeat:
			send = []driver.Record{rec, rec}
		case hit && s.f.fault == swap:
			rec.Body, rec.Key = append([]byte(nil), rec.Body...), append([]byte(nil), rec.Key...)
			s.kept = []driver.Record{rec}
			continue
		default:
			send = append([]driver.Record{rec}, s.kept...)
			s.kept = nil
		}
		if err := s.Sender.Send(ctx, send); err != nil {
			return err
		}
	}
	return nil
}

type faultyReceiver struct {
	driver.Receiver
	driver.Revoker
	driver.Waiter
	driver.Sharer
	f     *faulty
	token atomic.Pointer[driver.Delivery]
}

func (r *faultyReceiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	had := len(dst)
	got, err := r.Receiver.Receive(ctx, dst)
	for _, d := range got[had:] {
		if r.f.keys != nil && !r.f.keys(string(d.Key)) {
			continue
		}
		if r.f.received.Add(1)-1 != r.f.at || r.f.fault != early && r.f.fault != hushed {
			continue
		}
		same := *d
		same.Body, same.Key = append([]byte(nil), d.Body...), append([]byte(nil), d.Key...)
		if err := r.Receiver.Settle(ctx, []driver.Settlement{{Delivery: d, Verdict: driver.Done}}); err != nil {
			return got, err
		}
		*d = same // The memory is the broker's again; what the handler sees is what came.
		r.token.Store(d)
	}
	return got, err
}

func (r *faultyReceiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	if r.f.fault != hushed {
		return r.Receiver.Settle(ctx, batch)
	}
	var rest []driver.Settlement
	for _, s := range batch {
		if s.Delivery != r.token.Load() {
			rest = append(rest, s)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return r.Receiver.Settle(ctx, rest)
}
