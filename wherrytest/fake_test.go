package wherrytest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A fake is a test whose failures are looked at. It runs body as the testing package would, on a goroutine of its own
// that Fatal ends, and its clean-ups after it.
type fake struct {
	testing.TB
	name     string
	context  func() context.Context
	cancel   context.CancelFunc
	failed   bool
	messages []string
	cleanups []func()
}

// failuresOf runs body and returns what it reported, joined.
func failuresOf(t testing.TB, body func(tb testing.TB)) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	f := &fake{TB: t, name: t.Name() + "/fake", context: func() context.Context { return ctx }, cancel: cancel}
	f.guarded(func() { body(f) })
	f.cleanUp()
	if f.failed != (len(f.messages) > 0) {
		t.Errorf("failed is %v with messages %q", f.failed, f.messages)
	}
	return strings.Join(f.messages, "\n")
}

func (f *fake) cleanUp() {
	f.cancel()
	for len(f.cleanups) > 0 {
		last := f.cleanups[len(f.cleanups)-1]
		f.cleanups = f.cleanups[:len(f.cleanups)-1]
		f.guarded(last)
	}
}

// guarded runs step and returns when it did, or when it ended its goroutine.
func (f *fake) guarded(step func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		step()
	}()
	<-done
}

func (f *fake) Helper()                  {}
func (f *fake) Name() string             { return f.name }
func (f *fake) Context() context.Context { return f.context() }
func (f *fake) Failed() bool             { return f.failed }
func (f *fake) Cleanup(step func())      { f.cleanups = append(f.cleanups, step) }

func (f *fake) Error(args ...any) {
	f.failed = true
	f.messages = append(f.messages, strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}

func (f *fake) Errorf(format string, args ...any) { f.Error(fmt.Sprintf(format, args...)) }

func (f *fake) FailNow() {
	f.failed = true
	runtime.Goexit()
}

func (f *fake) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}
