// Command server takes orders over HTTP, publishes them, and stops without losing one that it said yes to.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// An Order is what customers post.
type Order struct {
	ID   string `json:"id"`
	Item string `json:"item"`
}

// Orders are to be billed.
var Orders = wherry.NewTopic("orders", codec.JSON[Order]{})

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	// A service has a fixed address; the port of this one is whichever is free.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close() //nolint:errcheck // The server has closed it, if it ever ran.

	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, Orders)
	if err != nil {
		return err
	}
	var billed sync.Map // by the ids of orders
	billing := wherry.Consume(wherry.Queue(broker, Orders), wherry.Func(
		func(_ context.Context, o Order) error {
			time.Sleep(time.Millisecond) // so that some wait when the stop comes
			billed.Store(o.ID, true)
			return nil
		}))

	customers := postAll("http://"+listener.Addr().String(), stop) // this demo sends itself no signal
	// The server is one of the runners: the broker is emptied when it takes no more.
	err = wherry.Run(ctx, billing, serve(listener, (&shop{publisher}).routes()))

	closing, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	err = errors.Join(err, publisher.Close(closing), broker.Close(closing))

	accepted, lost := <-customers, 0
	for _, id := range accepted {
		if _, ok := billed.Load(id); !ok {
			lost++
		}
	}
	fmt.Println("some were accepted:", len(accepted) > 0)
	fmt.Println("accepted and not billed:", lost)
	return err
}
