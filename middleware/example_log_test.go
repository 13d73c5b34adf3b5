package middleware_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/middleware"
)

func ExampleLog() {
	shop := newShop("order 1")
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "took" { // what differs from run to run
				return slog.Attr{}
			}
			return a
		},
	}))
	charge := wherry.Func(func(context.Context, string) error { return nil })
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge, middleware.Log(logger, slog.LevelInfo)))
	// Output: level=INFO msg=message consumer=orders topic=orders id="order 1" attempt=1 outcome=ack
}
