package wherry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/health"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/middleware"
)

// docs/router.md shows parts of this.
func Example_docsRouter() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	invoices := wherry.NewTopic("invoices", codec.Text{})
	refunds := wherry.NewTopic("refunds", codec.Text{})
	handle := wherry.Func(func(context.Context, string) error { return nil })
	logger := slog.New(slog.DiscardHandler)

	billing := wherry.NewRouter("billing",
		wherry.Share(wherry.LogTo(logger), wherry.DrainTime(20*time.Second)),
		wherry.ShareSingle(wherry.Concurrency(8), middleware.Timeout(5*time.Second)),
		wherry.Mount(
			wherry.Consume(wherry.Queue(broker, invoices), handle),
			wherry.Consume(wherry.Queue(broker, refunds), handle, wherry.Concurrency(1))))

	service := wherry.NewRouter("eu", wherry.Mount(billing))
	fmt.Println(service.Names())

	ran := make(chan error, 1)
	go func() { ran <- wherry.Run(ctx, service) }()

	late := wherry.Consume(wherry.Queue(broker, wherry.NewTopic("reminders", codec.Text{})), handle)
	if err := billing.Add(ctx, late); err != nil {
		fmt.Println(err) // and the others run on
	}
	name := late.Name() // eu/billing/reminders
	err := service.Pause(name, "the mail server is being moved")
	if err == nil {
		err = service.Resume(name)
	}
	if err == nil {
		err = service.Stop(ctx, name) // after its drain
	}

	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, r *http.Request) {
		health.Of(service.Consumers()...).Ready().ServeHTTP(w, r)
	})

	fmt.Println(err, service.Names())
	stop()
	fmt.Println(<-ran)
	// Output:
	// [eu/billing/invoices eu/billing/refunds]
	// <nil> [eu/billing/invoices eu/billing/refunds]
	// <nil>
}
