package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/wherryhq/wherry/cmd/wherry/internal/interrupt"
)

// A quitter ends the process at the second interrupt, and leaves no half of a file behind.
type quitter struct {
	errs io.Writer
	exit func(status int)
	// patience is how long a file that is being written may take. A disk that hangs must not keep the process.
	patience time.Duration
	// writing has room for one: whoever writes a file, and from the quitting on the quitter.
	writing chan struct{}
}

// quitPatience is that of a real one.
const quitPatience = 2 * time.Second

func newQuitter(errs io.Writer, exit func(int)) *quitter {
	return &quitter{errs: errs, exit: exit, patience: quitPatience, writing: make(chan struct{}, 1)}
}

// interruptible is a context that ends with the first interrupt. A second one quits. Until the end a reader of what is said may
// go, as tee does at Ctrl-C: a write to nobody would else end the process, and what is in no document yet with it.
func interruptible(ctx context.Context, s streams) (context.Context, *quitter, func()) {
	q := newQuitter(s.errs, os.Exit)
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	ctx, requests := interrupt.Listen(ctx)
	over := make(chan struct{})
	go func() {
		select {
		case <-over:
			requests.Close() // Not before, since it looks like a second interrupt.
		case <-requests.Quitting():
			q.quit()
		}
	}()
	return ctx, q, func() {
		signal.Stop(unread)
		close(over)
	}
}

// whole calls write, which writes a file, and lets it end even where the user quits meanwhile.
func (q *quitter) whole(write func() error) error {
	q.writing <- struct{}{}
	defer func() { <-q.writing }()
	return write()
}

// quit ends the process. After it nothing is written.
func (q *quitter) quit() {
	if columns(q.errs) > 0 {
		fmt.Fprintln(q.errs) // The bar's line has no end yet.
	}
	fmt.Fprintln(q.errs, "wherry bench: quit at once: runs that are in no document yet are lost, but for their figures in the log")
	late := time.NewTimer(q.patience)
	defer late.Stop()
	select {
	case q.writing <- struct{}{}:
	case <-late.C:
	}
	q.exit(statusInterrupted)
}
