package health_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/health"
	"github.com/wherryhq/wherry/mem"
)

// A process serves the health of its consumers from the moment it begins, and is not ready until they run.
func ExampleSet_Handler() {
	orders := wherry.NewTopic("orders", codec.Text{})
	billing := wherry.Consume(wherry.Queue(mem.New(mem.Config{}), orders),
		wherry.Func(func(context.Context, string) error { return nil }), wherry.Name("billing"))

	mux := http.NewServeMux()
	mux.Handle("/health/", http.StripPrefix("/health", health.Of(billing).Handler()))

	for _, path := range []string{"/health/live", "/health/ready"} {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, http.NoBody))
		fmt.Print(answer.Code, " ", answer.Body)
	}
	// Output:
	// 200 {"status":"live","consumers":[{"consumer":"billing","topic":"orders","state":"idle","ready":false,"in_flight":0,"handled":0}]}
	// 503 {"status":"not ready","consumers":[{"consumer":"billing","topic":"orders","state":"idle","ready":false,"in_flight":0,"handled":0}]}
}

// Liveness that ends when a handler has been blocked for ten minutes, and readiness with the texts of errors, for an
// address that only the operators reach.
func ExampleSet_Live() {
	orders := wherry.NewTopic("orders", codec.Text{})
	billing := wherry.Consume(wherry.Queue(mem.New(mem.Config{}), orders),
		wherry.Func(func(context.Context, string) error { return nil }))

	checks := health.Of(billing)
	mux := http.NewServeMux()
	mux.Handle("/live", checks.Live(health.StallLimit(10*time.Minute)))
	mux.Handle("/ready", checks.Ready(health.ShowErrors()))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/live", http.NoBody))
	fmt.Println(answer.Code, answer.Header().Get("Allow"))
	// Output: 405 GET, HEAD
}

// How many processes like this one would handle what waits within two minutes. docs/scaling.md shows a part of this.
func ExampleSet_Replicas() {
	orders := wherry.NewTopic("orders", codec.Text{})
	billing := wherry.Consume(wherry.Queue(mem.New(mem.Config{}), orders),
		wherry.Func(func(context.Context, string) error { return nil }), wherry.Name("billing"))

	mux := http.NewServeMux()
	mux.Handle("/replicas", health.Of(billing).Replicas(health.ReplicaConfig{Within: 2 * time.Minute, Max: 20}))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/replicas", http.NoBody))
	fmt.Print(answer.Code, " ", answer.Body)
	// Output:
	// 503 {"consumers":[{"consumer":"billing","topic":"orders","rate":0,"unknown":"the consumer is idle"}]}
}
