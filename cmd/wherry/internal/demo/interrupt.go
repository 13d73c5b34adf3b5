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
	stopping context.Context // ended by the first
	quitting context.Context // ended by the second
	stop     context.CancelFunc
	quit     context.CancelFunc
	gone     chan struct{}
}

// listen listens for signals until close. The end of ctx is a first interrupt too.
func listen(ctx context.Context) *interrupts {
	i := &interrupts{gone: make(chan struct{})}
	i.stopping, i.stop = notify(ctx)
	i.quitting, i.quit = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(i.gone)
		<-i.stopping.Done()
		again, stop := notify(i.quitting)
		defer stop()
		i.stop() // listening goes on before it ends, or a signal between the two would end the process
		<-again.Done()
		i.quit()
	}()
	return i
}

func notify(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// interrupt is what a signal does.
func (i *interrupts) interrupt() {
	if i.stopping.Err() == nil {
		i.stop()
		return
	}
	i.quit()
}

// close ends the listening. Both contexts end with it.
func (i *interrupts) close() {
	i.stop()
	i.quit()
	<-i.gone
}
