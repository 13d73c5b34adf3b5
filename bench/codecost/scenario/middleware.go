package scenario

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/middleware"
)

// Middlewares returns what [Work.Middleware] may be, sorted: "pass" lets everything pass, "log" has its level off and
// "log-on" writes to nowhere; the others are those of package middleware by their names.
func Middlewares() []string { return slices.Sorted(maps.Keys(middlewares)) }

// chainOf is the middleware that the work asks for.
func chainOf(w Work) ([]wherry.ConsumeOption, error) {
	if w.Middleware == "" {
		return nil, nil
	}
	one, ok := middlewares[w.Middleware]
	if !ok {
		return nil, fmt.Errorf("unknown middleware %q: want one of %s", w.Middleware, strings.Join(Middlewares(), ", "))
	}
	opts := make([]wherry.ConsumeOption, 0, w.Times)
	for range max(w.Times, 1) {
		opts = append(opts, one(w))
	}
	return opts, nil
}

var middlewares = map[string]func(Work) wherry.ConsumeOption{
	"pass": func(Work) wherry.ConsumeOption { return wherry.Use(pass) },
	"log": func(Work) wherry.ConsumeOption {
		return middleware.Log(toNowhere(), slog.LevelDebug)
	},
	"log-on": func(Work) wherry.ConsumeOption {
		return middleware.Log(toNowhere(), slog.LevelInfo)
	},
	"recover": func(Work) wherry.ConsumeOption {
		return middleware.Recover(func(_ context.Context, _ wherry.AnyMessage, p *wherry.PanicError) wherry.Outcome {
			return wherry.Retry(p)
		})
	},
	"limit":    func(Work) wherry.ConsumeOption { return middleware.Limit(1000) },
	"throttle": func(Work) wherry.ConsumeOption { return middleware.Throttle(middleware.Rate{Messages: 1_000_000_000}) },
	"breaker": func(Work) wherry.ConsumeOption {
		return middleware.NewBreaker(middleware.BreakerConfig{}).Option()
	},
	"dedup": func(w Work) wherry.ConsumeOption {
		return middleware.Dedup(middleware.NewMemoryStore(w.Ready), middleware.DedupConfig{})
	},
	"audit": func(Work) wherry.ConsumeOption {
		sink := middleware.AuditFunc(func(context.Context, []middleware.AuditRecord) error { return nil })
		return middleware.Audit(sink, middleware.AuditConfig{})
	},
	"timeout": func(Work) wherry.ConsumeOption { return middleware.Timeout(time.Minute) },
}

// toNowhere is a logger that formats what it is given, at info and above.
func toNowhere() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, nil)) //nolint:sloglint // DiscardHandler would not format.
}

// pass lets everything pass.
func pass(next wherry.Next) wherry.Next {
	return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome { return next(ctx, m) }
}
