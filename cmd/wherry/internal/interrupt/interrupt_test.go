package interrupt_test

import (
	"os/signal"
	"syscall"
	"testing"

	"github.com/wherryhq/wherry/cmd/wherry/internal/interrupt"
)

// A second signal that comes right after the first one quits. It is not parallel, since signals are for the whole process.
func TestTwice(t *testing.T) { //nolint:paralleltest // See above.
	if signal.Ignored(syscall.SIGINT) {
		t.Fatal("SIGINT is ignored by this process, as by what a script starts with &, and would never come: start it with the default")
	}
	for _, second := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		ctx, requests := interrupt.Listen(t.Context())
		for _, s := range []syscall.Signal{syscall.SIGINT, second} {
			if err := syscall.Kill(syscall.Getpid(), s); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
		}
		<-requests.Quitting()
		requests.Close()
	}
}

// What a key asks for is as what a signal asks for, and Close ends both.
func TestKeys(t *testing.T) { //nolint:paralleltest // See above.
	ctx, requests := interrupt.Listen(t.Context())
	requests.Interrupt()
	<-ctx.Done()
	<-requests.Stopping()
	select {
	case <-requests.Quitting():
		t.Error("the first request quits")
	default:
	}
	requests.Interrupt()
	<-requests.Quitting()
	requests.Close()
	ctx, requests = interrupt.Listen(t.Context())
	requests.Close()
	<-ctx.Done()
	<-requests.Quitting()
}
