package main

import (
	"syscall"
	"testing"
)

// A second Ctrl-C that comes right after the first one quits. It is not parallel, since signals are for the whole process.
func TestInterruptedTwice(t *testing.T) { //nolint:paralleltest // See above.
	quit := make(chan int, 1)
	ctx, stop := interruptible(t.Context(), func(status int) { quit <- status })
	defer stop()
	for range 2 {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
	}
	if status := <-quit; status != statusInterrupted {
		t.Errorf("quit with status %d, want %d", status, statusInterrupted)
	}
}
