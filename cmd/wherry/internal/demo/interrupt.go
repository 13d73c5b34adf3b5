package demo

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interrupts are two requests of the user: to stop, and to quit without waiting for that. A first Ctrl-C or SIGTERM is the
// first, another is the second.
type interrupts struct {
	stopping <-chan struct{} // closed by the first
	quitting <-chan struct{} // closed by the second
	stop     context.CancelFunc
	quit     context.CancelFunc
	gone     chan struct{} // closed when nothing listens any more
}

// listen listens for signals until close. The context that it returns ends with the first interrupt; the end of ctx is a
// first interrupt too. It listens once, for both: between two listeners the second signal would be lost.
func listen(ctx context.Context) (context.Context, *interrupts) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopping, stop := context.WithCancel(ctx)
	quitting, quit := context.WithCancel(context.WithoutCancel(ctx))
	in := &interrupts{
		stopping: stopping.Done(), quitting: quitting.Done(), stop: stop, quit: quit, gone: make(chan struct{}),
	}
	go func() {
		defer close(in.gone)
		defer signal.Stop(signals)
		select {
		case <-signals:
		case <-stopping.Done():
		}
		stop()
		select {
		case <-signals:
		case <-quitting.Done():
		}
		quit()
	}()
	return stopping, in
}

// interrupt is what a signal does.
func (in *interrupts) interrupt() {
	select {
	case <-in.stopping:
		in.quit()
	default:
		in.stop()
	}
}

// close ends the listening, and with it both.
func (in *interrupts) close() {
	in.stop()
	in.quit()
	<-in.gone
}
