package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
)

// The engine's promises about transactions, on brokers that have them.
func engineTransactCases() []Case {
	needs := []Ability{Transact}
	return []Case{
		{
			Name: "engine/transaction",
			Sentence: "What a handler publishes in its transaction, the retry or dead letter of its message and the settlement happen together: " +
				"what a failed handler published is never seen, and the rest once.",
			Needs: needs, kinds: shared, Run: transactionOfAll,
		},
		{
			Name:     "engine/transaction-unseen",
			Sentence: "While a handler of a transaction works nothing of the transaction is seen, and then all of it.",
			Needs:    needs, kinds: shared, Run: transactionUnseen,
		},
		{
			Name:     "engine/transaction-stop",
			Sentence: "A consumer that is stopped and started again in the middle of its transactions publishes for each message once.",
			Needs:    needs, kinds: shared, Run: transactionStopped,
		},
		{
			Name:     "engine/transaction-cut",
			Sentence: "A connection that is cut in the middle of transactions loses nothing of them and doubles nothing.",
			Needs:    needs, Hooks: []string{HookCut}, kinds: shared, Run: transactionCut,
		},
		{
			Name: "engine/transaction-revoke",
			Sentence: "A tenure that ends in the middle of a transaction aborts it, unless what is in hand is finished in time: " +
				"each message is handled again, and what follows from it is seen once.",
			Needs: needs, Hooks: []string{HookRevokeTx}, kinds: shared, Run: transactionRevoked,
		},
	}
}

// A relay is a consumer that publishes each message of one app to another, in transactions.
type relay struct {
	*app
	out *app
	to  *wherry.TxPublisher[string]
}

// relayed returns a relay and runs the consumer that sees what was published.
func (t *T) relayed(opts ...wherry.TopicOption) *relay {
	r := &relay{app: t.app(opts...), out: t.app()}
	r.to = wherry.NewTxPublisher(r.out.topic)
	r.out.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		r.out.calls.add(m)
		return wherry.Ack()
	})
	return r
}

// relaySize is how many messages a transaction of a relay has.
const relaySize = 10

// start runs one on a line. It publishes before it does as h says.
func (r *relay) start(l *line, h wherry.Handler[string], opts ...wherry.ConsumeOption) *service {
	t := r.t
	b, ok := l.b.(driver.Transactor)
	if !ok {
		t.Fatalf("%T is no Transactor", l.b)
	}
	tx := []wherry.TxOption{wherry.Publishing(r.to), wherry.TxAtMost(relaySize, t.h.slack())}
	source := wherry.Transacted(b, r.topic, tx...)
	if l.kind.grouped {
		source = wherry.GroupTransacted(b, l.group, r.topic, tx...)
	}
	return t.start(wherry.Consume(source, func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
		r.calls.add(m)
		if err := r.to.Publish(ctx, &m.Value, wherry.WithID(m.ID())); err != nil {
			return wherry.Retry(err)
		}
		return h(ctx, m)
	}, opts...))
}

func ackTransacted(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }

// once wants each of the messages on the other side, once.
func (r *relay) once(want []string) {
	t := r.t
	t.eventually(func() bool { return r.out.calls.count() >= len(want) })
	t.pause(t.h.Quiet)
	if got := r.out.calls.ids(); !sameSet(got, want) {
		t.Errorf("seen are %d: %q; want each of %d once: %q", len(got), got, len(want), want)
	}
}

var errHalf = errors.New("half done")

func transactionOfAll(t *T) {
	r := t.relayed(t.soonRetry(3))
	all := texts(40)
	r.publish(all...)
	s := r.start(r.l, func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		switch i := slices.Index(all, m.Value); {
		case i == 7:
			return wherry.Reject(errHalf)
		case i%10 == 3 && m.Attempt() == 1:
			return wherry.Retry(errHalf)
		case i%10 == 4 && m.Attempt() == 1:
			panic(errHalf) //nolint:forbidigo // The handler that panics is what is tried.
		}
		return wherry.Ack()
	}, wherry.Concurrency(3))
	r.once(slices.Delete(slices.Clone(all), 7, 8))
	s.stop()
	for i, id := range all {
		want := 1
		if i%10 == 3 || i%10 == 4 {
			want = 2
		}
		if got := r.calls.attempts(id); len(got) != want || got[len(got)-1] != want {
			t.Errorf("attempts of %s are %v, want up to %d", id, got, want)
		}
	}
	r.letter(wherry.ReasonRejected, 1)
	r.l.empty()
}

func transactionUnseen(t *T) {
	r := t.relayed()
	hold, held := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	all := texts(relaySize)
	r.publish(all...)
	s := r.start(r.l, func(context.Context, *wherry.Message[string]) wherry.Outcome {
		if first.CompareAndSwap(false, true) { // of whichever transaction is the first
			close(held)
			select {
			case <-hold:
			case <-t.Context().Done():
			}
		}
		return wherry.Ack()
	}, wherry.Concurrency(2))
	select {
	case <-held:
	case <-t.soon().Done():
		t.Fatalf("no handler call within %v", t.h.Wait)
	}
	t.pause(t.h.Quiet)
	if got := r.out.calls.ids(); len(got) > 0 {
		t.Errorf("%q were seen while a handler of their transaction worked", got)
	}
	close(hold)
	r.once(all)
	s.stop()
	r.l.empty()
}

func transactionStopped(t *T) {
	r := t.relayed()
	all := texts(60)
	r.publish(all...)
	for i := range 5 {
		s := r.start(r.l, func(context.Context, *wherry.Message[string]) wherry.Outcome {
			t.work(t.h.slack() / 20)
			return wherry.Ack()
		}, wherry.Concurrency(2), wherry.Name(fmt.Sprint("relay-", i)))
		r.reach(min(len(all), (i+1)*relaySize/2))
		s.stop()
	}
	s := r.start(r.l, ackTransacted)
	r.once(all)
	s.stop()
	r.l.empty()
}

func transactionCut(t *T) {
	b := t.Open() // before whoever uses another: what is opened last is closed first, and a broker in process closes whole
	r := t.relayed()
	all := texts(60)
	r.publish(all...)
	l := r.l.over(b)
	s := r.start(l, func(context.Context, *wherry.Message[string]) wherry.Outcome {
		t.work(t.h.slack() / 20)
		return wherry.Ack()
	}, wherry.Concurrency(2), wherry.MaxDelivered(1000))
	r.reach(relaySize / 2)
	mend := t.h.Cut(t, l.b)
	t.pause(t.h.slack())
	mend()
	r.once(all)
	s.stop()
	r.l.empty()
}

func transactionRevoked(t *T) {
	r := t.relayed()
	all := texts(30)
	r.publish(all...)
	opened := make(chan driver.TxReceiver, 1)
	h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
		t.work(t.h.slack() / 5)
		return wherry.Ack()
	}
	s := r.start(r.l.tappedTx(opened), h, wherry.Concurrency(2), wherry.MaxDelivered(1000))
	r.reach(relaySize / 2)
	select {
	case x := <-opened:
		t.h.RevokeTx(t, x)
	default:
		t.Fatalf("handlers were called, and no receiver was opened through the broker that they are of")
	}
	r.once(all)
	s.stop()
	if n := r.calls.count(); n > len(all)+relaySize {
		t.Errorf("%d calls for %d messages, of which a transaction has %d", n, len(all), relaySize)
	}
	r.l.empty()
}

// A tapped transactor hands on the receivers of transactions that are opened from it.
type (
	tappedTransactor struct {
		driver.Transactor
		opened chan driver.TxReceiver
	}
	// tappedTxQueuer is one that has queues as well, which hold topics are.
	tappedTxQueuer struct {
		tappedTransactor
		queues driver.Queuer
	}
)

// OpenTransacted opens a receiver and hands it on.
func (b tappedTransactor) OpenTransacted(ctx context.Context, s driver.Source) (driver.TxReceiver, error) {
	r, err := b.Transactor.OpenTransacted(ctx, s)
	if err == nil {
		b.opened <- r
	}
	return r, err
}

// OpenQueue opens a receiver.
func (b tappedTxQueuer) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.queues.OpenQueue(ctx, s)
}

// tappedTx is the line over a broker that hands on what is opened for transactions.
func (l *line) tappedTx(opened chan driver.TxReceiver) *line {
	b, ok := l.b.(driver.Transactor)
	if !ok {
		l.t.Fatalf("%T is no Transactor", l.b)
	}
	tapped := tappedTransactor{Transactor: b, opened: opened}
	if q, ok := l.b.(driver.Queuer); ok {
		return l.over(tappedTxQueuer{tapped, q})
	}
	return l.over(tapped)
}
