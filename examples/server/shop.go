package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/wherryhq/wherry"
)

const (
	// publishFor is how long a customer waits while the queue is full or the broker away. A publish would wait longer.
	publishFor = 2 * time.Second
	// finishFor is how long requests in hand may take at the stop. It is well below the drain time of the consumers, which is 30 s.
	finishFor = 10 * time.Second
	// mostBody is the longest order, in bytes.
	mostBody = 64 << 10
)

// serve serves until its context ends. It takes no more requests then, and returns when those in hand are answered.
func serve(listener net.Listener, routes http.Handler) wherry.RunnerFunc {
	return func(ctx context.Context) error {
		server := &http.Server{Handler: routes, ReadHeaderTimeout: 5 * time.Second}
		answered := make(chan error, 1)
		forget := context.AfterFunc(ctx, func() {
			finishing, done := context.WithTimeout(context.WithoutCancel(ctx), finishFor)
			defer done()
			answered <- server.Shutdown(finishing)
		})
		defer forget()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return <-answered // Serve returns before
	}
}

// A shop publishes what customers post.
type shop struct {
	orders *wherry.Publisher[Order]
}

func (s *shop) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.post)
	return mux
}

// post says yes to an order once the broker has it.
func (s *shop) post(w http.ResponseWriter, r *http.Request) {
	var o Order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&o); err != nil || o.ID == "" {
		http.Error(w, "an order has an id and an item", http.StatusBadRequest)
		return
	}
	ctx, done := context.WithTimeout(r.Context(), publishFor)
	defer done()
	switch err := s.orders.Publish(ctx, &o, wherry.WithID(o.ID)); {
	case err == nil:
		w.WriteHeader(http.StatusAccepted)
	case errors.Is(err, wherry.ErrUnconfirmed):
		http.Error(w, "perhaps: post it again with the same id", http.StatusGatewayTimeout)
	case errors.Is(err, wherry.ErrTooLarge):
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
	default:
		http.Error(w, "not taken: post it again later", http.StatusServiceUnavailable)
	}
}
