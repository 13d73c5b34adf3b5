package wherrytest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// defaultPatience is longer than a handler's default timeout, whose end is something that a test may wait for.
const defaultPatience = time.Minute

// A Test is one test's broker, what runs on it, and the books of both. It is made by [New]. Its methods belong to the
// test's goroutine, but for Broker, which may be called from any.
type Test struct {
	tb      testing.TB
	spec    spec
	ledger  *ledger
	broker  *Broker
	mu      sync.Mutex // guards the field below
	running []*run
}

// An Option sets something of a [Test].
type Option func(*spec)

// spec is what options set.
type spec struct {
	broker     driver.Broker
	onBroker   bool
	patience   time.Duration
	undone     bool
	goroutines bool
}

// OnBroker runs the test on b, which stays the caller's: it is not closed, and must not be before the test has ended or Stop
// has returned. A nil b fails the test. Topics and groups should be the test's own, as what others do with them is not in its
// books.
func OnBroker(b driver.Broker) Option {
	return func(s *spec) { s.broker, s.onBroker = b, true }
}

// isNil reports a nil broker, also one that is a nil pointer: what made it failed.
func isNil(b driver.Broker) bool {
	v := reflect.ValueOf(b)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Patience is how long a wait goes on although nothing happens and nothing is due, before it fails the test with what it
// waits for. Default one minute, which inside a synctest bubble passes at once.
func Patience(d time.Duration) Option { return func(s *spec) { s.patience = d } }

// LeaveUndone lets the test end while messages are still under way, which is otherwise a failure.
func LeaveUndone() Option { return func(s *spec) { s.undone = true } }

// KeepGoroutines lets goroutines that consumers and handlers started outlive the test, which is otherwise a failure. It
// is for handlers whose clients keep connections open; those of net/http and database/sql are excused without it.
func KeepGoroutines() Option { return func(s *spec) { s.goroutines = true } }

// New returns a Test for tb. What it holds at the end of tb is stopped and closed then, and tb fails when that is not
// clean: see [Test.Run]. A nil option fails it at once. Call New inside the synctest bubble where there is one.
func New(tb testing.TB, opts ...Option) *Test {
	tb.Helper()
	t := &Test{tb: tb, ledger: newLedger(), spec: spec{patience: defaultPatience}}
	for _, o := range opts {
		if o == nil {
			tb.Fatalf("wherrytest: an option is nil")
		}
		o(&t.spec)
	}
	if t.spec.onBroker && isNil(t.spec.broker) {
		tb.Fatalf("wherrytest: the broker of OnBroker is nil")
	}
	if t.spec.patience <= 0 {
		tb.Fatalf("wherrytest: patience is %v, want more than 0", t.spec.patience)
	}
	inner := t.spec.broker
	var own *mem.Broker
	if inner == nil {
		own = mem.New(mem.Config{Poison: true})
		inner = own
	}
	t.broker = newBroker(inner, t.ledger)
	tb.Cleanup(func() { t.end(own) })
	return t
}

// Broker returns the test's broker, to be given to what is tested.
func (t *Test) Broker() *Broker { return t.broker }

// context is the test's, for calls that clean-up may still need.
func (t *Test) context() context.Context { return context.WithoutCancel(t.tb.Context()) }

// end is the clean-up of the test.
func (t *Test) end(own *mem.Broker) {
	t.tb.Helper()
	failed := t.tb.Failed()
	left := ""
	if t.isRunning() && !failed {
		left = t.leftText()
	}
	hurry := failed || left != ""
	if hurry && own != nil {
		// What nobody will look at is not waited for.
		t.close(own)
	}
	if left != "" && !t.spec.undone {
		t.tb.Errorf("wherrytest: the test ended while messages were under way; Quiesce waits for them:%s", left)
	}
	if err := t.Stop(); err != nil && !hurry {
		hint := ""
		if own == nil && errors.Is(err, driver.ErrClosed) {
			hint = "\nthe broker of OnBroker was closed before the test ended: a deferred call is too early, a Cleanup from before New is not"
		}
		t.tb.Errorf("wherrytest: stop: %v%s", err, hint)
	}
	if stacks := t.leaked(); stacks != "" && !failed && !t.spec.goroutines {
		t.tb.Errorf("wherrytest: goroutines outlived the test's consumers:\n%s", stacks)
	}
	if own != nil {
		t.close(own)
	}
}

func (t *Test) close(own *mem.Broker) {
	if err := own.Close(t.context()); err != nil {
		t.tb.Errorf("wherrytest: close broker: %v", err)
	}
}

// label marks the goroutines of the test's consumers.
func (t *Test) label() string { return fmt.Sprintf("%s %p", t.tb.Name(), t) }
