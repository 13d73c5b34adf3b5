package mem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A ledger counts settlements that were accepted as done, by body.
type ledger struct {
	mu    sync.Mutex
	done  map[string]int
	total int
	all   chan struct{} // closed when everything is done
}

func (l *ledger) add(body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[body]++
	if len(l.done) == l.total && l.done[body] == 1 {
		close(l.all)
	}
}

// work receives and settles a few times, and closes its receiver with something in hand.
func (l *ledger) work(ctx context.Context, r driver.Receiver, rnd *rand.Rand) {
	var telling sync.WaitGroup
	telling.Go(func() {
		for rev := range r.(driver.Revoker).Revocations() {
			if rev.Done != nil {
				rev.Done()
			}
		}
	})
	defer telling.Wait()
	defer func() { _ = r.Close(context.Background()) }()
	for range 1 + rnd.IntN(20) {
		ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 1+rnd.IntN(16)))
		switch {
		case errors.Is(err, driver.ErrDisconnected):
			continue
		case err != nil:
			return
		}
		ds = ds[rnd.IntN(2)*len(ds)/2:] // sometimes the first half is kept
		batch := make([]driver.Settlement, len(ds))
		names := make([]string, len(ds)) // a settled delivery is the driver's again
		for i, d := range ds {
			batch[i] = driver.Settlement{Delivery: d, Verdict: driver.Verdict(rnd.IntN(4) & 1)}
			names[i] = string(d.Body)
		}
		for {
			err := r.Settle(ctx, batch)
			if errors.Is(err, driver.ErrDisconnected) {
				batch, names = again(batch, names, err, l)
				continue
			}
			again(batch, names, err, l)
			break
		}
	}
}

// again books what was settled, and returns what may be tried again.
func again(batch []driver.Settlement, names []string, err error, l *ledger) ([]driver.Settlement, []string) {
	var left []driver.Settlement
	var leftNames []string
	for i := range batch {
		switch entry := driver.EntryError(err, i); {
		case entry == nil && batch[i].Verdict == driver.Done:
			l.add(names[i])
		case errors.Is(entry, driver.ErrDisconnected):
			left, leftNames = append(left, batch[i]), append(leftNames, names[i])
		}
	}
	return left, leftNames
}

func TestNothingIsLostOrDoneTwiceInChaos(t *testing.T) {
	t.Parallel()
	const senders, each, receivers, troubles = 4, 1000, 4, 1000
	b := open(t, mem.Config{MaxMessages: 50, Lease: 50 * time.Millisecond})
	topic := queueTopic("orders")
	l := &ledger{done: map[string]int{}, total: senders * each, all: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range senders {
		s := sender(t, b, driver.Target{Topic: topic})
		all.Go(func() {
			for j := range each {
				send(t, s, fmt.Sprintf("%d/%d", i, j))
			}
		})
	}
	for i := range receivers {
		rnd := rand.New(rand.NewPCG(uint64(i), 2))
		all.Go(func() {
			for ctx.Err() == nil {
				r, err := b.OpenQueue(ctx, driver.Source{Topics: []driver.Topic{topic}})
				if err != nil {
					continue // away
				}
				l.work(ctx, r, rnd)
			}
		})
	}
	all.Go(func() {
		rnd := rand.New(rand.NewPCG(7, 3))
		f := b.Faults()
		for range troubles {
			switch rnd.IntN(5) {
			case 0:
				f.Disconnect(mem.HardCut)
				f.Reconnect()
			case 1:
				f.Disconnect(mem.SoftCut)
				f.Reconnect()
			case 2:
				f.Revoke("orders", time.Duration(rnd.IntN(2))*time.Millisecond)
			case 3:
				f.FailSettle("orders", 1) // until a settlement meets it
			case 4:
				f.Clear()
			}
		}
	})
	<-l.all
	cancel()
	all.Wait()
	for body, n := range l.done {
		if n != 1 {
			t.Errorf("%s was done %d times", body, n)
		}
	}
	want(t, "depth", depth(t, b, "", topic), "ready 0 held 0 in flight 0")
}
