package drivertest

import (
	"context"
	"errors"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

func (b *toy) OpenTransacted(ctx context.Context, s driver.Source) (driver.TxReceiver, error) {
	open := b.OpenQueue
	if s.Group != "" {
		open = b.OpenGroup
	}
	r, err := open(ctx, s)
	return &toyTxReceiver{r: r, b: b}, err
}

type toyTxReceiver struct {
	r    driver.Receiver
	b    *toy
	open *toyTx
}

var errToyTx = errors.New("no transaction, or another, is open")

func (x *toyTxReceiver) Next(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, driver.Tx, error) {
	if x.open != nil {
		return dst, nil, errToyTx
	}
	if x.b.wrong == bringsNothing {
		<-ctx.Done()
		return dst, nil, ctx.Err()
	}
	n := len(dst)
	dst, err := x.r.Receive(ctx, dst)
	if errors.Is(err, driver.ErrClosed) && x.b.wrong == endsOddly {
		err = errToyTx
	}
	if len(dst) == n {
		return dst, nil, err
	}
	if x.b.wrong != reusesOnAbort {
		for i, d := range dst[n:] {
			own := hold(d).copy
			dst[n+i] = &own
		}
	}
	x.open = &toyTx{x: x, in: slices.Clone(dst[n:])}
	return dst, x.open, err
}

func (x *toyTxReceiver) Info() driver.Info { return x.r.Info() }

func (x *toyTxReceiver) Close(ctx context.Context) error { return x.r.Close(ctx) }

type toyTx struct {
	x   *toyTxReceiver
	in  []*driver.Delivery
	out []driver.Record
	to  []driver.Target
}

func (t *toyTx) Send(ctx context.Context, to driver.Target, batch []driver.Record) error {
	if t.x.open != t {
		return errToyTx
	}
	if t.x.b.wrong == sendsAtOnce {
		return t.x.b.sendTo(ctx, to, batch)
	}
	errs, failed := make([]error, len(batch)), false
	for i, r := range cloneRecords(batch) {
		if r.Size() > toyRecord && t.x.b.wrong != sizesAtCommit {
			errs[i], failed = errors.Join(driver.ErrTooLarge, driver.ErrNotSent), true
			continue
		}
		t.out, t.to = append(t.out, r), append(t.to, to)
	}
	if failed {
		return &driver.BatchError{Errs: errs}
	}
	return nil
}

func (t *toyTx) Commit(ctx context.Context, done []driver.Settlement) error {
	if t.x.open != t {
		return errToyTx
	}
	t.x.open = nil
	for _, s := range done {
		if !slices.Contains(t.in, s.Delivery) && t.x.b.wrong != commitsStrangers {
			return errors.Join(driver.ErrRevoked, t.x.r.Settle(ctx, settlements(driver.Release, t.in...)))
		}
	}
	if t.x.b.wrong == commitsAll {
		done = settlements(driver.Done, t.in...)
	}
	for _, d := range t.in {
		if !slices.ContainsFunc(done, func(s driver.Settlement) bool { return s.Delivery == d }) {
			done = append(done, driver.Settlement{Delivery: d})
		}
	}
	if t.x.b.wrong == sendsFirst {
		return errors.Join(t.sendAll(ctx), t.x.r.Settle(ctx, done))
	}
	// A tenure that was lost fails all of it; a send in process does not fail.
	err := t.x.r.Settle(ctx, done)
	if t.x.b.wrong == outlivesClose && errors.Is(err, driver.ErrRevoked) {
		err = nil
	}
	if err != nil {
		return err
	}
	return t.sendAll(ctx)
}

func (t *toyTx) sendAll(ctx context.Context) error {
	for i, r := range t.out {
		if err := t.x.b.sendTo(ctx, t.to[i], []driver.Record{r}); err != nil {
			return err
		}
	}
	return nil
}

func (b *toy) sendTo(ctx context.Context, to driver.Target, batch []driver.Record) error {
	if b.wrong == ignoresTargets {
		to.Group = ""
	}
	s, err := b.OpenSender(ctx, to)
	if err != nil {
		return err
	}
	send := s.Send
	if h, ok := s.(driver.Holder); ok && batch[0].Due != 0 {
		send = h.SendAt
	}
	return errors.Join(send(ctx, batch), s.Close(ctx))
}

func (t *toyTx) Abort(ctx context.Context) error {
	if t.x.open != t {
		return nil
	}
	t.x.open = nil
	if t.x.b.wrong == forgetsOnAbort {
		return t.x.r.Settle(ctx, settlements(driver.Done, t.in...))
	}
	return t.x.r.Settle(ctx, settlements(driver.Release, t.in...))
}
