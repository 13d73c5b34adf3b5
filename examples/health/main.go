// Command health serves the health of its consumer while it runs, until a signal ends it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/health"
	"github.com/wherryhq/wherry/mem"
)

// Orders are the names of what was ordered.
var Orders = wherry.NewTopic("orders", codec.Text{})

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	// A service has a fixed address; the port of this one is whichever is free.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()

	broker := mem.New(mem.Config{})
	billing := wherry.Consume(wherry.Queue(broker, Orders), wherry.Func(
		func(ctx context.Context, name string) error {
			fmt.Println("billing", name)
			defer stop() // this demo sends itself no signal
			return ask(ctx, url+"/ready")
		}))

	mux := http.NewServeMux()
	mux.Handle("/", health.Of(billing).Handler())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	// The server goes last: it answers "not ready" while the consumers drain.
	defer func() {
		closing, done := context.WithTimeout(context.Background(), 5*time.Second)
		defer done()
		err = errors.Join(err, server.Shutdown(closing))
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
	}()

	if err := publish(ctx, broker, "lamp"); err != nil {
		return err
	}
	if err := ask(ctx, url+"/ready"); err != nil {
		return err
	}
	if err := wherry.Run(ctx, billing); err != nil {
		return err
	}
	return errors.Join(
		ask(context.Background(), url+"/ready"),
		ask(context.Background(), url+"/live"),
	)
}

func publish(ctx context.Context, broker *mem.Broker, name string) error {
	publisher, err := wherry.NewPublisher(ctx, broker, Orders)
	if err != nil {
		return err
	}
	return publisher.Publish(ctx, &name)
}

// ask prints an answer, as what starts and stops services would read it.
func ask(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // It is only read.
	var report health.Report
	if err := json.NewDecoder(answer.Body).Decode(&report); err != nil {
		return err
	}
	one := report.Consumers[0]
	fmt.Printf("%d %s: %s is %s\n", answer.StatusCode, report.Status, one.Consumer, one.State)
	return nil
}
