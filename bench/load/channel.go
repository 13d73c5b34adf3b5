package load

import (
	"context"
	"sync"
	"time"
	"unsafe"

	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/driver"
)

const bodySize = 64

// A parcel is as large as a delivery and has a body of its own.
type parcel struct {
	body [bodySize]byte
	_    [unsafe.Sizeof(driver.Delivery{}) - bodySize]byte
}

// channel sends parcels through a Go channel: the producer copies a body into each, and the receiver copies it out. The
// ledger is that of every other live row.
func channel(ctx context.Context, o Order) Report {
	receivers := o.Spec.Consumers
	messages := receivers + o.Messages
	l, g := ledger.New(messages), newGate(receivers)
	c := make(chan parcel, o.Spec.Bound)
	b := views(bodySize)
	receive := func() {
		lane, body := l.Lane(g.hold), b.fresh()
		for p := range c {
			copy(body, p.body[:])
			lane.Note(b.id(&body))
		}
	}
	body := b.fresh()
	var p parcel
	send := func(id int) {
		b.number(&body, uint32(id))
		copy(p.body[:], body)
		c <- p
	}
	return exchange(ctx, o, exchanged{l, g, receive, send, func() { close(c) }})
}

// exchanged are the two sides of a channel.
type exchanged struct {
	ledger  *ledger.Ledger
	gate    *gate
	receive func()
	send    func(id int)
	close   func()
}

func exchange(ctx context.Context, o Order, e exchanged) Report {
	receivers := o.Spec.Consumers
	messages := receivers + o.Messages
	var all sync.WaitGroup
	for range receivers {
		all.Go(e.receive)
	}
	defer e.gate.open()
	for id := range receivers {
		e.send(id)
	}
	if err := e.gate.wait(receivers, patience); err != nil {
		e.close()
		return failed(err.Error())
	}
	w := openWindow()
	e.gate.open()
	for id := receivers; id < messages && ctx.Err() == nil; id++ {
		e.send(id)
	}
	e.close()
	all.Wait()
	run := w.close(int64(o.Messages), e.ledger.Last())
	run.Round, run.PeakRSS = o.Round, host.PeakMemory()
	run.Ledger = e.ledger.Judge(int64(messages), ledger.Order{Promised: receivers == 1})
	if wrong := faultsOf(run.Ledger); len(wrong) > 0 {
		return failed(wrong[0])
	}
	return Report{Run: &run}
}

// bare sends slice headers through a Go channel. Nothing is copied and nothing has an id, so that what comes is counted
// alone.
func bare(_ context.Context, o Order) Report {
	receivers := o.Spec.Consumers
	c := make(chan []byte, o.Spec.Bound)
	counts := make([]int64, receivers)
	var all sync.WaitGroup
	for i := range receivers {
		all.Go(func() {
			var n int64
			for range c {
				n++
			}
			counts[i] = n
		})
	}
	body := make([]byte, bodySize)
	w := openWindow()
	for range o.Messages {
		c <- body
	}
	close(c)
	all.Wait()
	run := w.close(int64(o.Messages), time.Time{})
	run.Round, run.PeakRSS = o.Round, host.PeakMemory()
	run.Ledger.Published = int64(o.Messages)
	for _, n := range counts {
		run.Ledger.Handled += n
	}
	run.Ledger.Lost = run.Ledger.Published - run.Ledger.Handled
	if wrong := faultsOf(run.Ledger); len(wrong) > 0 {
		return failed(wrong[0])
	}
	return Report{Run: &run}
}
