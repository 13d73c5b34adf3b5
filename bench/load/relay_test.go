package load

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A plain receiver can receive, settle and be closed.
type plain struct {
	driver.Receiver
	closed int
	err    error
}

func (p *plain) Receive(_ context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	return append(dst, &driver.Delivery{}), nil
}

func (p *plain) Settle(context.Context, []driver.Settlement) error { return p.err }

func (p *plain) Close(context.Context) error {
	p.closed++
	return nil
}

// What a receiver lacks is answered as by one that never uses it, and what it has stays.
func TestRelayKeepsAbilities(t *testing.T) {
	t.Parallel()
	r := &relay{}
	p := &plain{}
	w := r.wrap(p)
	if _, ok := w.(driver.Extender); ok {
		t.Error("a receiver without leases is an Extender")
	}
	if got := w.(driver.Waiter).Waiting(); got != "" {
		t.Errorf("it waits for %q", got)
	}
	if w.(driver.Sharer).Wanted() != nil {
		t.Error("it may be asked to share")
	}
	revocations := w.(driver.Revoker).Revocations()
	for range 2 {
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, open := <-revocations; open || p.closed != 2 {
		t.Errorf("revocations are open: %v, closed %d times", open, p.closed)
	}

	b := mem.New(mem.Config{Lease: time.Minute})
	leased, err := (&relay{broker: b}).OpenQueue(t.Context(), driver.Source{Topics: []driver.Topic{{Name: "t"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := leased.(driver.Extender); !ok {
		t.Error("a receiver with leases is no Extender")
	}
	if leased.(driver.Revoker).Revocations() == nil || leased.(driver.Sharer).Wanted() == nil {
		t.Error("the receiver's own channels are gone")
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRelayCountsWhatWasSettledBefore(t *testing.T) {
	t.Parallel()
	r := &relay{}
	batch := make([]driver.Settlement, 3)
	for _, c := range []struct {
		err  error
		want int64
	}{
		{nil, 0},
		{fmt.Errorf("tried too often: %w", driver.ErrDisconnected), 0},
		{&driver.BatchError{Errs: []error{nil, driver.ErrRevoked, driver.ErrDisconnected}}, 1},
		{fmt.Errorf("all: %w", driver.ErrRevoked), 3},
	} {
		r.revoked.Store(0)
		if err := r.wrap(&plain{err: c.err}).Settle(t.Context(), batch); err != c.err { //nolint:errorlint // It is passed on as it is.
			t.Errorf("%v became %v", c.err, err)
		}
		if got := r.revoked.Load(); got != c.want {
			t.Errorf("%v: counted %d, want %d", c.err, got, c.want)
		}
	}
}

// Each receive and each settlement takes the added round trip, or as long as somebody waits.
func TestRelayTravels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := (&relay{trip: time.Millisecond}).wrap(&plain{})
		begun := time.Now()
		got, err := w.Receive(t.Context(), nil)
		if took := time.Since(begun); err != nil || len(got) != 1 || took != time.Millisecond {
			t.Errorf("a receive of %d took %v, %v", len(got), took, err)
		}
		begun = time.Now()
		if err := w.Settle(t.Context(), nil); err != nil || time.Since(begun) != time.Millisecond {
			t.Errorf("a settlement took %v, %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		defer cancel()
		begun = time.Now()
		if _, err := w.Receive(ctx, nil); err == nil || time.Since(begun) != time.Microsecond {
			t.Errorf("a receive that nobody waits for took %v, %v", time.Since(begun), err)
		}
	})
}
