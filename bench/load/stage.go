package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/driver"
)

const (
	topicName = "bench"
	groupName = "members"

	// patience is how long nothing may happen before a run is given up, and the gate may stay closed.
	patience = 10 * time.Second
	// quiet is how long nothing may happen when all that is missing can be in notes that no lane has told of.
	quiet = 500 * time.Millisecond
	// look is how often it is looked whether a run is over. When it was is known from the ledger.
	look = time.Millisecond
)

// A stage is one run of a cell on a broker of its own.
type stage struct {
	order Order
	spec  *matrix.Spec
	relay *relay
	work  work // of the handlers, nil for nothing
}

func newStage(o Order, open opener) (*stage, error) {
	todo, err := workOf(o.Spec.Handler)
	if err != nil {
		return nil, err
	}
	b, err := open(o)
	if err != nil {
		return nil, err
	}
	s := &stage{order: o, relay: &relay{broker: b}, work: todo}
	s.spec = &s.order.Spec
	s.relay.trip = s.spec.RoundTrip
	return s, nil
}

func (s *stage) close(ctx context.Context) error { return s.relay.Close(ctx) }

// topicOf is the topic of a stage, whose bodies a codec makes.
func topicOf[T any](s *stage, b *body[T], c wherry.Codec[T]) wherry.TopicOf[T] {
	switch s.spec.Flow {
	case matrix.Group:
		return wherry.NewTopic(topicName, c, wherry.Fanout(groupName))
	case matrix.Broadcast:
		return wherry.NewTopic(topicName, c, wherry.Fanout())
	case matrix.Sequence:
		return keyedOf(b, c)
	default:
		return wherry.NewTopic(topicName, c)
	}
}

func keyedOf[T any](b *body[T], c wherry.Codec[T]) wherry.KeyedTopic[T] {
	return wherry.NewKeyedTopic(topicName, c, b.key)
}

// sourceOf is where the handlers of a stage get their messages from.
func sourceOf[T any](s *stage, b *body[T], c wherry.Codec[T]) wherry.Source[T] {
	switch s.spec.Flow {
	case matrix.Group:
		return wherry.Group(s.relay, groupName, topicOf(s, b, c))
	case matrix.Sequence:
		return wherry.Sequence(s.relay, keyedOf(b, c))
	case matrix.Transaction:
		return wherry.Transacted(s.relay, topicOf(s, b, c), wherry.TxAtMost(s.spec.BatchSize, patience))
	default:
		return wherry.Queue(s.relay, topicOf(s, b, c))
	}
}

// place is that source as the broker sees it.
func (s *stage) place() driver.Source {
	if s.spec.Flow == matrix.Group {
		return driver.Source{Topics: []driver.Topic{{Name: topicName, Fanout: true, Groups: []string{groupName}}}, Group: groupName}
	}
	return driver.Source{Topics: []driver.Topic{{Name: topicName, Fanout: s.spec.Flow == matrix.Broadcast}}}
}

// A service is a consumer that runs.
type service struct {
	cancel context.CancelFunc
	done   chan error
	err    error
	over   bool
}

func start(ctx context.Context, r wherry.Runner) *service {
	ctx, cancel := context.WithCancel(ctx)
	v := &service{cancel: cancel, done: make(chan error, 1)}
	go func() { v.done <- wherry.Run(ctx, r) }()
	return v
}

// stop stops the consumer and waits for it. It may be called more than once, by one goroutine.
func (v *service) stop() error {
	v.cancel()
	if !v.over {
		v.err, v.over = <-v.done, true
	}
	return v.err
}

// barrier waits until every handler has a message, and looks whether the broker still has all of them, since no handler
// has said a word yet.
func (s *stage) barrier(ctx context.Context, g *gate, at driver.Source, there int64) error {
	if err := g.wait(cap(g.came), patience); err != nil {
		return err
	}
	left, err := s.relay.left(ctx, at)
	if err != nil {
		return fmt.Errorf("ask what the broker has: %w", err)
	}
	if left >= 0 && left != there {
		return fmt.Errorf("the broker had %d of %d messages before any handler was done", left, there)
	}
	return nil
}

// await waits until that many messages were noted, and reports whether the lanes told so. It gives up when nothing
// happens any more.
func await(ctx context.Context, l *ledger.Ledger, want int64) bool {
	told, since := l.Told(), time.Now()
	for ctx.Err() == nil {
		now := l.Told()
		if now >= want {
			return true
		}
		if now != told {
			told, since = now, time.Now()
		}
		still := time.Since(since)
		if still > patience || still > quiet && now+l.Untold() >= want {
			return false
		}
		time.Sleep(look)
	}
	return false
}

// judge is the reason why a run is void, nil if it is not.
func (s *stage) judge(ctx context.Context, l document.Ledger, at driver.Source, runErr error) *document.Reason {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if n := s.relay.revoked.Load(); n > 0 {
		say("%d were settled before their handler was done", n)
	}
	wrong = append(wrong, faultsOf(l)...)
	if runErr != nil {
		say("the consumer failed: %v", runErr)
	}
	switch left, err := s.relay.left(ctx, at); {
	case err != nil:
		say("ask what the broker has: %v", err)
	case left > 0 && l.Lost == 0:
		say("%d are left at the broker although all were handled", left)
	}
	if len(wrong) == 0 {
		return nil
	}
	return &document.Reason{
		Code: document.Failed, Text: fmt.Sprintf("of %d messages %s", l.Published, strings.Join(wrong, ", ")),
	}
}

// faultsOf are the faults that a ledger shows.
func faultsOf(l document.Ledger) []string {
	var wrong []string
	for _, c := range []struct {
		n    int64
		what string
	}{{l.Lost, "lost"}, {l.Duplicated, "handled more than once"}, {l.Reordered, "handled out of order"}} {
		if c.n > 0 {
			wrong = append(wrong, fmt.Sprintf("%d were %s", c.n, c.what))
		}
	}
	return wrong
}

// errFew is a corpus that is too small for its handlers.
var errFew = errors.New("half of the corpus was gone at the barrier")
