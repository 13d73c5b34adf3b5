package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// entry is one side of a transfer.
type entry struct {
	ID     int `json:"id"`
	Amount int `json:"amount"`
}

var (
	transfers = wherry.NewTopic("transfers", codec.JSON[entry]{}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 4, First: 50 * time.Millisecond}))
	debits    = wherry.NewTopic("debits", codec.JSON[entry]{})
	credits   = wherry.NewTopic("credits", codec.JSON[entry]{})
)

// A moneyBook is what was seen of each transfer.
type moneyBook struct {
	mu     sync.Mutex
	sum    int
	debits map[int]int // how often, by transfer
	credit map[int]int
	dead   map[int]int
}

func newMoneyBook() *moneyBook {
	return &moneyBook{debits: map[int]int{}, credit: map[int]int{}, dead: map[int]int{}}
}

func (l *moneyBook) book(side map[int]int) wherry.Handler[entry] {
	return wherry.Func(func(_ context.Context, e entry) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		side[e.ID]++
		l.sum += e.Amount
		return nil
	})
}

// check says what is wrong with the books of n transfers. Where retries wait in a hold topic, a transfer may have come again: what
// moves them on is no transaction.
func (l *moneyBook) check(n int, repeated bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	if l.sum != 0 {
		errs = append(errs, fmt.Errorf("%d was made of nothing", l.sum))
	}
	for id := range n {
		d, c, dead := l.debits[id], l.credit[id], l.dead[id]
		if d != c || d+dead < 1 || d+dead > 1 && !repeated {
			errs = append(errs, fmt.Errorf("transfer %d: %d debits, %d credits, %d dead letters", id, d, c, dead))
		}
	}
	return errors.Join(errs...)
}

// Money moves between two topics while everything breaks that can, and none is made or lost: each transfer is on both sides
// once, or in the dead letters once and on neither side.
func TestTransactionsConserveMoney(t *testing.T) {
	t.Parallel()
	seeds := uint64(60)
	if testing.Short() || wherry.RaceEnabled { // the race detector takes seconds for each
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { conserveMoney(t, seed) })
		})
	}
}

func conserveMoney(t *testing.T, seed uint64) {
	const n = 200
	rnd := rand.New(rand.NewPCG(seed, 7))
	cfg := mem.Config{Poison: true, MaxMessages: 30 + int(seed%3)*100}
	if seed%2 == 1 {
		cfg.Lease = 3 * time.Second
	}
	if seed%5 == 1 {
		cfg.Weak.NoHold = true
	}
	b := mem.New(cfg)
	defer b.Close(t.Context())
	books := newMoneyBook()
	readers := start(t,
		wherry.Consume(wherry.Queue(b, debits), books.book(books.debits), wherry.Name("debits")),
		wherry.Consume(wherry.Queue(b, credits), books.book(books.credit), wherry.Name("credits")),
		wherry.Consume(wherry.Queue(b, wherry.DeadLetters(transfers)), func(_ context.Context, m *wherry.Message[wherry.DeadLetter[entry]]) wherry.Outcome {
			books.mu.Lock()
			defer books.mu.Unlock()
			books.dead[m.Value.Value.ID]++
			return wherry.Ack()
		}),
	)
	var movers []*run
	mover := func() *run { return start(t, moneyMover(b, seed), moneyMover(b, seed+1000)) }
	movers = append(movers, mover())
	go func() {
		p, err := wherry.NewPublisher(t.Context(), b, transfers)
		if err != nil {
			t.Error(err)
			return
		}
		defer p.Close(t.Context())
		for id := range n {
			time.Sleep(10 * time.Millisecond)
			for p.Publish(t.Context(), &entry{ID: id, Amount: 1 + id}) != nil { // in vain while a cut is on: it is another record
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
	for range 40 {
		time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
		breakSomething(b.Faults(), rnd)
		if rnd.IntN(8) == 0 { // a stop in the middle, and a new start
			if err := movers[0].end(); err != nil {
				if _, ok := errors.AsType[*wherry.AbandonedError](err); !ok {
					t.Errorf("Run: %v", err)
				}
			}
			b.Faults().Reconnect() // or it cannot start
			movers[0] = mover()
		}
	}
	b.Faults().Clear()
	time.Sleep(10 * time.Minute)
	movers[0].mustEnd()
	readers.mustEnd()
	if err := books.check(n, cfg.Weak.NoHold); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
}

// moneyMover is a consumer that moves money, fails in every way, and publishes what must not be seen.
func moneyMover(b *mem.Broker, seed uint64) *wherry.Consumer {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 11))
	debit, credit := wherry.NewTxPublisher(debits), wherry.NewTxPublisher(credits)
	return wherry.Consume(
		wherry.Transacted(b, transfers, wherry.Publishing(debit, credit), wherry.TxAtMost(20, 200*time.Millisecond)),
		func(ctx context.Context, m *wherry.Message[entry]) wherry.Outcome {
			mu.Lock()
			what, pause := rnd.IntN(20), time.Duration(rnd.IntN(40))*time.Millisecond
			mu.Unlock()
			if err := debit.Publish(ctx, &entry{m.Value.ID, -m.Value.Amount}); err != nil {
				return wherry.Retry(err)
			}
			time.Sleep(pause)
			switch {
			case what == 0:
				return wherry.Retry(errors.New("half done"))
			case what == 1:
				panic("half done")
			case what == 2:
				return wherry.Defer(200 * time.Millisecond)
			case m.Value.ID%31 == 30:
				return wherry.Reject(errors.New("never"))
			}
			if err := credit.Publish(ctx, &entry{m.Value.ID, m.Value.Amount}); err != nil {
				return wherry.Retry(err)
			}
			return wherry.Ack()
		},
		wherry.Name(fmt.Sprintf("mover-%d", seed)), wherry.Concurrency(4), wherry.MaxDelivered(1000),
	)
}

// breakSomething switches one fault on, or off. None of them loses or doubles what the broker has taken, so that whatever is
// wrong in the end was done by a transaction.
func breakSomething(f *mem.Faults, rnd *rand.Rand) {
	out := []string{"debits", "credits"}[rnd.IntN(2)]
	switch rnd.IntN(11) {
	case 0:
		f.FailSettle("transfers", 1+rnd.IntN(3))
	case 1:
		f.CutBefore(out, 1+rnd.IntN(3))
	case 2:
		f.CutAfter(out, 1)
	case 3:
		f.FailSend(out, 1+rnd.IntN(5), nil)
	case 4:
		f.Revoke("transfers", 0)
	case 5:
		f.Revoke("transfers", time.Duration(rnd.IntN(50))*time.Millisecond)
	case 6:
		f.Disconnect(mem.HardCut)
	case 7:
		f.Disconnect(mem.SoftCut)
	case 8:
		f.Stall(out)
	case 9:
		f.WithholdConfirms(out)
	default:
		f.Clear()
	}
}
