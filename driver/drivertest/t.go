package drivertest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A T is what a case runs with. It is a [testing.TB] whose failures are collected: they become the result of the case.
// Its methods may be called from any goroutine; FailNow ends the one that calls it. A case cannot be skipped: Skip is
// a failure.
type T struct {
	testing.TB
	h      Harness
	c      Case
	ctx    context.Context
	cancel context.CancelFunc
	label  string
	over   chan struct{} // closed when everything was cleaned up
	began  time.Time

	mu       sync.Mutex // guards the fields below
	errs     []error
	cleanups []func()
	broker   driver.Broker
	records  uint64
}

// execute performs one case: the body, the cleanups, and the search for goroutines that were left.
func execute(tb *testing.T, h Harness, c Case) error {
	tb.Helper()
	t := &T{TB: tb, h: h, c: c, over: make(chan struct{}), label: newLabel(), began: time.Now()}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.protect(func() {
		t.h = h.begin(t)
		if missing := t.missingHooks(); len(missing) > 0 {
			t.Fatalf("the harness has no %s, and does not say in Lacks why", strings.Join(missing, ", "))
		}
		c.Run(t)
	})
	t.cleanUp()
	close(t.over)
	if !t.goroutinesEnded() && h.Virtual {
		// The bubble is about to panic, and nobody would read what is returned.
		tb.Errorf("contract: %s\n%v", c.Sentence, t.result())
	}
	return t.result()
}

// result is everything that failed so far, joined.
func (t *T) result() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.errs...)
}

func (t *T) missingHooks() []string {
	var missing []string
	hooks := t.h.hooks()
	for _, name := range t.c.Hooks {
		if !hooks[name] {
			missing = append(missing, name)
		}
	}
	return missing
}

// protect calls f on a labelled goroutine, which FailNow may end, and waits for it.
func (t *T) protect(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		labelled(t.label, f)
	}()
	<-done
}

func (t *T) cleanUp() {
	t.protect(t.cancel)
	for {
		t.mu.Lock()
		n := len(t.cleanups)
		if n == 0 {
			t.mu.Unlock()
			return
		}
		f := t.cleanups[n-1]
		t.cleanups = t.cleanups[:n-1]
		t.mu.Unlock()
		t.protect(f)
	}
}

// Context ends when the case's Run has returned, before anything is cleaned up.
func (t *T) Context() context.Context { return t.ctx }

// soon is a context that ends with the case, or after Wait.
func (t *T) soon() context.Context {
	ctx, cancel := context.WithTimeout(t.ctx, t.h.Wait)
	t.Cleanup(cancel)
	return ctx
}

// Cleanup registers f for the end of the case, last registered first called.
func (t *T) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// Harness returns the harness of this case, complete.
func (t *T) Harness() Harness { return t.h }

// Broker returns the case's first connection, opened at the first call.
func (t *T) Broker() driver.Broker {
	t.mu.Lock()
	b := t.broker
	t.mu.Unlock()
	if b != nil {
		return b
	}
	b = t.Open()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broker = b
	return b
}

// Open returns one more connection. It is closed at the end of the case; whether that succeeds is part of the case.
func (t *T) Open() driver.Broker {
	b := t.h.Open(t)
	t.Cleanup(func() { t.closing("Broker.Close", b.Close) })
	return b
}

// Topic returns the name of a topic that was never used.
func (t *T) Topic() string { return t.h.Topic(t) }

// closing calls one Close and reports an error or a hang.
func (t *T) closing(what string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
	defer cancel()
	var err error
	if t.within(what, 2*t.h.Wait, func() { err = f(ctx) }) && err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// within calls f on a goroutine of its own and reports whether it returned in time; if not, that is a failure.
func (t *T) within(what string, limit time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		t.Errorf("%s did not return within %v", what, limit)
		return false
	}
}

// until calls f, which should return once ctx has ended, on a goroutine of its own and reports whether it returned
// within extra of that; if not, that is a failure.
func (t *T) until(ctx context.Context, what string, extra time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(extra)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		t.Errorf("%s did not return within %v of its context's end", what, extra)
		return false
	}
}

// pause lets d go by.
func (t *T) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// work lets d go by in a handler, or less when the case ends before.
func (t *T) work(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// eventually reports whether f became true within Wait.
func (t *T) eventually(f func() bool) bool {
	// It looks often at first, and less often the longer it takes.
	every, slowest := time.Millisecond, t.h.Wait/20
	for limit := time.Now().Add(t.h.Wait); ; every = min(every+every/4, slowest) {
		if f() {
			return true
		}
		if time.Now().After(limit) {
			return false
		}
		t.pause(every)
	}
}

// Errorf records a failure of the case.
func (t *T) Errorf(format string, args ...any) { t.note(fmt.Sprintf(format, args...)) }

// Error records a failure of the case.
func (t *T) Error(args ...any) { t.note(strings.TrimSuffix(fmt.Sprintln(args...), "\n")) }

// Fatalf records a failure and ends the goroutine.
func (t *T) Fatalf(format string, args ...any) {
	t.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// Fatal records a failure and ends the goroutine.
func (t *T) Fatal(args ...any) {
	t.note(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	runtime.Goexit()
}

// Fail records a failure without a text.
func (t *T) Fail() { t.note("failed") }

// FailNow records a failure without a text and ends the goroutine.
func (t *T) FailNow() {
	t.note("failed")
	runtime.Goexit()
}

// Failed reports whether the case has failed so far.
func (t *T) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.errs) > 0
}

// Skip is a failure.
func (t *T) Skip(args ...any) { t.Fatal(append([]any{"a case cannot be skipped:"}, args...)...) }

// Skipf is a failure.
func (t *T) Skipf(format string, args ...any) {
	t.Fatal("a case cannot be skipped: " + fmt.Sprintf(format, args...))
}

// SkipNow is a failure.
func (t *T) SkipNow() { t.Fatal("a case cannot be skipped") }

func (t *T) note(text string) {
	err := fmt.Errorf("%s: %s", where(), text)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs = append(t.errs, err)
}

// where returns file and line of the innermost frame that belongs to a case, or else to whoever called into this
// package's own machinery.
func where() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	first := ""
	for {
		f, more := frames.Next()
		file := path.Base(f.File)
		at := fmt.Sprintf("%s:%d", file, f.Line)
		if strings.HasPrefix(file, "cases_") || strings.HasSuffix(file, "_test.go") {
			return at
		}
		if first == "" {
			first = at
		}
		if !more {
			return first
		}
	}
}
