package drivertest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A lateReceiver is a broadcast reader that is opened by its first Receive.
type lateReceiver struct {
	driver.Receiver // nowhere, until then
	toy             *toy
	s               driver.Source

	mu     sync.Mutex // guards Receiver and closed
	closed bool
}

func (r *lateReceiver) opened(ctx context.Context) (driver.Receiver, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, late := r.Receiver.(nowhere); !late || r.closed {
		return r.Receiver, nil
	}
	r.toy.mu.Lock()
	r.toy.readers++
	r.s.Group = "late-" + strings.Repeat("x", r.toy.readers)
	r.toy.mu.Unlock()
	opened, err := r.toy.OpenGroup(ctx, r.s)
	if err == nil {
		r.Receiver = opened
	}
	return r.Receiver, err
}

func (r *lateReceiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	to, err := r.opened(context.WithoutCancel(ctx))
	if err != nil {
		return dst, err
	}
	return to.Receive(ctx, dst)
}

func (r *lateReceiver) now() driver.Receiver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Receiver
}

func (r *lateReceiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	return r.now().Settle(ctx, batch)
}

func (r *lateReceiver) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return r.now().Close(ctx)
}

// nowhere is a receiver that was not opened.
type nowhere struct{}

func (nowhere) Receive(_ context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	return dst, driver.ErrClosed
}
func (nowhere) Settle(context.Context, []driver.Settlement) error { return driver.ErrClosed }
func (nowhere) Info() driver.Info                                 { return driver.Info{HasCount: true, Volatile: true} }
func (nowhere) Close(context.Context) error                       { return nil }

func toyHarness(wrong toyFault) Harness {
	return Harness{
		Virtual: true, Messages: 80, MaxRecord: 128 << 10,
		Setup: func(_ testing.TB, h *Harness) {
			b := newToy(wrong)
			h.Open = func(testing.TB) driver.Broker { return b }
			h.Cut = func(testing.TB, driver.Broker) func() {
				b.Faults().Disconnect(mem.HardCut)
				return b.Faults().Reconnect
			}
			if b.shares() {
				h.Revoke = func(tb testing.TB, r driver.Receiver) {
					if err := b.Faults().RevokeReceiver(r, 0); err != nil {
						tb.Fatal(err)
					}
				}
			}
		},
		Lacks: map[string]string{
			HookInject: "tried with the in-process broker", HookRevoke: "tried with the in-process broker",
			HookCutBeforeWrite: "tried with the in-process broker", HookCutAfterWrite: "tried with the in-process broker",
			HookWipe: "tried with the in-process broker", HookRevokeTx: "tried with the in-process broker",
		},
	}
}

func TestToyPasses(t *testing.T) { //nolint:tparallel // Run is this package's, and its cases are parallel.
	t.Parallel()
	Run(t, toyHarness(sound))
}

func TestBrokenToys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrong toyFault
		want  []string
	}{
		"two receivers share a key": {wrong: sharesKeys, want: []string{
			"sequence/one-owner", "sequence/hand-over",
		}},
		"leases come back in reverse": {wrong: reversesLeases, want: []string{"sequence/lease-ended"}},
		"what is given up comes last": {wrong: requeuesLast, want: []string{"sequence/revoked", "sequence/hand-over"}},
		"senders wait for readers":    {wrong: waitsForReaders, want: []string{"broadcast/slow"}},
		"now is late":                 {wrong: fixesNowLate, want: []string{"broadcast/now"}},
		"commits what was not given":  {wrong: commitsAll, want: []string{"transact/exactly"}},
		"sends before the commit":     {wrong: sendsAtOnce, want: []string{"transact/atomic", "transact/abort", "transact/close"}},
		"settles what it should free": {wrong: forgetsOnAbort, want: []string{"transact/abort"}},
		"settles what it can":         {wrong: commitsStrangers, want: []string{"transact/foreign"}},
		"uses memory again":           {wrong: reusesOnAbort, want: []string{"transact/keeps-memory"}},
		"sends before it can settle":  {wrong: sendsFirst, want: []string{"transact/cut"}},
		"finds sizes at the commit":   {wrong: sizesAtCommit, want: []string{"transact/too-large"}},
		"sends to every group":        {wrong: ignoresTargets, want: []string{"transact/group-alone"}},
		"has another end than closed": {wrong: endsOddly, want: []string{"transact/close-wakes"}},
		"commits what was closed":     {wrong: outlivesClose, want: []string{"transact/close-commit"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := toyHarness(c.wrong)
			found, hooks := probe(t, h)
			var failed []string
			for _, one := range Cases() {
				kind, _, _ := strings.Cut(one.Name, "/")
				own := kind == string(Sequence) || kind == string(Broadcast) || kind == "transact"
				hookless := slices.ContainsFunc(one.Hooks, func(hook string) bool { return !hooks[hook] })
				if own && one.Applies(found) && !hookless && one.Check(t, h) != nil {
					failed = append(failed, one.Name)
				}
			}
			for _, want := range c.want {
				if !slices.Contains(failed, want) {
					t.Errorf("%s does not fail; failing are %q", want, failed)
				}
			}
		})
	}
}

// A case whose handlers are never called fails, and says so, instead of waiting for them.
func TestTransactionsThatBringNothingFail(t *testing.T) {
	t.Parallel()
	err := caseNamed(t, "queue/engine/transaction-unseen").Check(t, toyHarness(bringsNothing))
	if err == nil || !strings.Contains(err.Error(), "no handler call within") {
		t.Errorf("%v, want an error that says that no handler was called", err)
	}
}
