// Package interrupt listens for the user who wants a command to end: first in order, then at once.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Requests are the two requests of a user: to stop, and to quit without waiting for that. The first Ctrl-C, SIGTERM or end
// of the terminal is the first, another is the second. The end of the terminal is none where nohup says that it may end. All
// methods may be called from any goroutine.
type Requests struct {
	stopping <-chan struct{}
	quitting <-chan struct{}
	stop     context.CancelFunc
	quit     context.CancelFunc
	gone     chan struct{} // closed when nothing listens any more
}

// Listen listens for signals until [Requests.Close]. The context that it returns ends with the first request; the end of ctx
// is a first request too. It listens once, for both: between two listeners the second signal would be lost.
func Listen(ctx context.Context) (context.Context, *Requests) {
	kinds := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		kinds = append(kinds, syscall.SIGHUP)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, kinds...)
	stopping, stop := context.WithCancel(ctx)
	quitting, quit := context.WithCancel(context.WithoutCancel(ctx))
	r := &Requests{
		stopping: stopping.Done(), quitting: quitting.Done(), stop: stop, quit: quit, gone: make(chan struct{}),
	}
	go func() {
		defer close(r.gone)
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
	return stopping, r
}

// Stopping is closed by the first request, and by Close.
func (r *Requests) Stopping() <-chan struct{} { return r.stopping }

// Quitting is closed by the second request, and by Close.
func (r *Requests) Quitting() <-chan struct{} { return r.quitting }

// Interrupt is a request that comes as something else than a signal, as by a key.
func (r *Requests) Interrupt() {
	select {
	case <-r.stopping:
		r.quit()
	default:
		r.stop()
	}
}

// Close ends the listening, and waits for its end.
func (r *Requests) Close() {
	r.stop()
	r.quit()
	<-r.gone
}
