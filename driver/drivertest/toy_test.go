package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A toy has abilities made of queues and groups alone: a broadcast reader is a group of its own, with a history before it, a
// sequence has one receiver at work at a time, and a transaction keeps what it sends until its commit. It shows that the
// cases can be passed in more than one manner, and, where it is wrong, that they can fail.
type toy struct {
	*mem.Broker
	wrong toyFault

	mu      sync.Mutex // guards the fields below
	readers int
	history map[string][]sentRecord
	turns   map[string]chan struct{} // of a sequence; full while somebody has it
}

// toyRecord is the most bytes of a record.
const toyRecord = 128 << 10

// A toyFault is something that a toy does wrong.
type toyFault int

const (
	sound            toyFault = iota
	sharesKeys                // two receivers of a sequence at work at once
	reversesLeases            // and what their leases give back comes in reverse
	requeuesLast              // and what they give back comes behind what is new
	waitsForReaders           // a sender waits for the slowest broadcast reader
	fixesNowLate              // a broadcast's now is the first Receive
	commitsAll                // a transaction settles whatever it received
	sendsAtOnce               // a transaction sends before its commit
	forgetsOnAbort            // an abort settles
	commitsStrangers          // a commit settles what is of its transaction, whatever else it is given
	reusesOnAbort             // what an abort gives back comes again in the same memory
	bringsNothing             // no transaction is ever opened
	sendsFirst                // a commit sends before it knows that it can settle
	sizesAtCommit             // a record that is too large fails its commit
	ignoresTargets            // what a transaction sends to one group reaches all
	endsOddly                 // a Next that a close woke does not say that it is closed
	outlivesClose             // a transaction can be committed after its receiver was closed
)

type sentRecord struct {
	r  driver.Record
	at time.Time
}

func newToy(wrong toyFault) *toy {
	cfg := mem.Config{MaxRecord: toyRecord}
	switch wrong {
	case reversesLeases:
		cfg.Lease, cfg.Weak.RequeueInNackOrder = time.Minute, true
	case requeuesLast:
		cfg.Weak.RequeueBehindNew = true
	case waitsForReaders:
		cfg.MaxMessages = prefetch
	case sound, sharesKeys, fixesNowLate, commitsAll, sendsAtOnce, forgetsOnAbort, commitsStrangers, reusesOnAbort, sendsFirst, bringsNothing, sizesAtCommit,
		ignoresTargets, endsOddly, outlivesClose:
	}
	return &toy{wrong: wrong, Broker: mem.New(cfg), history: map[string][]sentRecord{}, turns: map[string]chan struct{}{}}
}

// Describe says that nothing is revoked of a sequence that has one receiver at work, or of a transaction.
func (b *toy) Describe(s driver.Source) driver.Description {
	d := b.Broker.Describe(s)
	inTurn := s.Manner == driver.Sequenced && !b.shares()
	d.Revokes = d.Revokes && !inTurn && s.Manner != driver.Transacted && b.wrong != fixesNowLate
	return d
}

// shares reports whether its sequences are no more than queues.
func (b *toy) shares() bool {
	return b.wrong == sharesKeys || b.wrong == reversesLeases || b.wrong == requeuesLast
}

func (b *toy) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	s, err := b.Broker.OpenSender(ctx, t)
	if err != nil {
		return nil, err
	}
	h, ok := s.(driver.Holder)
	if !ok {
		return nil, fmt.Errorf("%T is no Holder", s)
	}
	return &toySender{Sender: s, Holder: h, b: b, t: t}, nil
}

// A toySender notes what was sent to all.
type toySender struct {
	driver.Sender
	driver.Holder
	b *toy
	t driver.Target
}

func (s *toySender) Send(ctx context.Context, batch []driver.Record) error {
	err := s.Sender.Send(ctx, batch)
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	for i := range batch {
		if s.t.Group == "" && driver.EntryError(err, i) == nil {
			r := sentRecord{r: cloneRecords(batch[i : i+1])[0], at: time.Now()}
			s.b.history[s.t.Topic.Name] = append(s.b.history[s.t.Topic.Name], r)
		}
	}
	return err
}

func (b *toy) OpenBroadcast(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if s.Group != "" {
		return nil, fmt.Errorf("toy: a broadcast has no group %q", s.Group)
	}
	if s.From.Time.After(time.Now()) {
		return nil, fmt.Errorf("toy: a reader begins now at the latest: %w", errors.ErrUnsupported)
	}
	for _, t := range s.Topics {
		if err := b.Declare(ctx, t, s.Topology); err != nil {
			return nil, err
		}
	}
	s.Topology = driver.Declare
	if b.wrong == fixesNowLate {
		return &lateReceiver{toy: b, s: s, Receiver: nowhere{}}, nil
	}
	b.mu.Lock()
	b.readers++
	s.Group = fmt.Sprintf("reader-%d", b.readers)
	b.mu.Unlock()
	r, err := b.OpenGroup(ctx, s)
	if err != nil || !s.From.Head && s.From.Time.IsZero() {
		return r, err
	}
	old, err := b.Broker.OpenSender(ctx, driver.Target{Topic: s.Topics[0], Group: s.Group})
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	past := slices.Clone(b.history[s.Topics[0].Name])
	b.mu.Unlock()
	for _, p := range past {
		if !p.at.Before(s.From.Time) {
			err = errors.Join(err, old.Send(ctx, []driver.Record{p.r}))
		}
	}
	return r, errors.Join(err, old.Close(ctx))
}

func (b *toy) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.OpenQueue(ctx, s)
	return b.inTurn(s, r), err
}

func (b *toy) OpenGroupSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.OpenGroup(ctx, s)
	return b.inTurn(s, r), err
}

// inTurn is a receiver that receives once no other of the source has the turn, and keeps it until it is closed.
func (b *toy) inTurn(s driver.Source, r driver.Receiver) driver.Receiver {
	if r == nil || b.shares() {
		return r
	}
	t := &turnReceiver{Receiver: r, gone: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, topic := range s.Topics {
		name := topic.Name + "/" + s.Group
		if b.turns[name] == nil {
			b.turns[name] = make(chan struct{}, 1)
		}
		t.turns = append(t.turns, b.turns[name])
	}
	return t
}

type turnReceiver struct {
	driver.Receiver
	turns []chan struct{}
	gone  chan struct{}
	once  sync.Once

	mu  sync.Mutex // guards the fields below
	has int        // how many of the turns
}

func (r *turnReceiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	r.mu.Lock()
	has := r.has
	r.mu.Unlock()
	for ; has < len(r.turns); has++ {
		select {
		case <-r.gone:
			return dst, driver.ErrClosed
		case r.turns[has] <- struct{}{}:
		case <-ctx.Done():
			return r.Receiver.Receive(ctx, slices.Clip(dst))
		}
		r.mu.Lock()
		r.has++
		r.mu.Unlock()
	}
	return r.Receiver.Receive(ctx, dst)
}

func (r *turnReceiver) Close(ctx context.Context) error {
	err := r.Receiver.Close(ctx)
	r.once.Do(func() {
		close(r.gone)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, turn := range r.turns[:r.has] {
			<-turn
		}
		r.has = 0
	})
	return err
}
