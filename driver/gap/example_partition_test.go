package gap_test

import (
	"errors"
	"fmt"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/gap"
)

// A partition is an assignment, as the driver of a log keeps it. A lock of the driver is held over all of it.
type partition struct {
	tenure   uint64
	tracker  *gap.Tracker
	released map[uint64]*driver.Delivery // by position
	tokens   uint64
}

// assigned begins with what the broker keeps: a position, and the metadata beside it; and with where the log ends now.
func assigned(tenure, position uint64, metadata string, end uint64) *partition {
	p := &partition{
		tenure:   tenure,
		tracker:  gap.New(gap.Config{MaxState: 4096, Log: "orders-0"}, position),
		released: map[uint64]*driver.Delivery{},
	}
	if err := p.tracker.Restore(metadata, end); err != nil {
		fmt.Println(err) // to the log; all from the position on is handled again
	}
	return p
}

// record is part of Receive: the log brought a record.
func (p *partition) record(position uint64, body string) (*driver.Delivery, error) {
	fresh, err := p.tracker.Receive(position)
	if err != nil || !fresh {
		return nil, err
	}
	d := &driver.Delivery{Tenure: p.tenure, Body: []byte(body)}
	return p.deliver(d, position), nil
}

// again is part of Receive too, and comes first: what was released is delivered from memory.
func (p *partition) again() *driver.Delivery {
	position, ok := p.tracker.Redeliver()
	if !ok {
		return nil
	}
	d := p.released[position]
	delete(p.released, position)
	return p.deliver(d, position)
}

// deliver gives a delivery a token that was never used.
func (p *partition) deliver(d *driver.Delivery, position uint64) *driver.Delivery {
	p.tokens++
	d.Token = driver.Token{A: position, B: p.tokens}
	return d
}

// settle is part of Settle. The settlement is of this tenure, and of the token that was delivered last.
func (p *partition) settle(s driver.Settlement) error {
	position := s.Delivery.Token.A
	var err error
	if s.Verdict == driver.Done {
		err = p.tracker.Done(position)
	} else if err = p.tracker.Release(position); err == nil {
		p.released[position] = s.Delivery
	}
	if err != nil {
		return errors.Join(driver.ErrRevoked, err)
	}
	return nil
}

// Three orders of which the second is slow and the first is given back, and a crash before either is done.
func Example() {
	orders := map[uint64]string{100: "anna", 101: "bert", 103: "cleo"} // 102 is the mark of a transaction

	p := assigned(1, 100, "", 100)
	deliveries := map[uint64]*driver.Delivery{}
	for _, position := range []uint64{100, 101, 103} {
		d, err := p.record(position, orders[position])
		if err != nil {
			fmt.Println(err)
			return
		}
		deliveries[position] = d
	}
	for _, s := range []driver.Settlement{
		{Delivery: deliveries[103], Verdict: driver.Done},
		{Delivery: deliveries[100], Verdict: driver.Release},
	} {
		if err := p.settle(s); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("%s again, with another token\n", p.again().Body)

	position, metadata := p.tracker.Commit(), string(p.tracker.AppendState(nil))
	fmt.Printf("committed %d %q\n", position, metadata)

	p = assigned(2, position, metadata, position+100)
	for _, position := range []uint64{100, 101, 103} {
		if d, err := p.record(position, orders[position]); err == nil && d != nil {
			fmt.Printf("%s after the crash\n", d.Body)
		}
	}
	// Output:
	// anna again, with another token
	// committed 100 "gap1BBjmIDOB"
	// anna after the crash
	// bert after the crash
}
