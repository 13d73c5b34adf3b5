package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
)

func Example() {
	main()
	// Output:
	// some were accepted: true
	// accepted and not billed: 0
}

// What cannot be published is refused, each with a word of its own.
func TestAnswers(t *testing.T) {
	t.Parallel()
	broker := mem.New(mem.Config{MaxRecord: 16 << 10})
	t.Cleanup(func() { _ = broker.Close(context.Background()) })
	orders, err := wherry.NewPublisher(t.Context(), broker, Orders)
	if err != nil {
		t.Fatal(err)
	}
	routes := (&shop{orders}).routes()
	lamp := `{"id":"1","item":"lamp"}`
	for _, c := range []struct {
		name, body string
		fault      func()
		want       int
	}{
		{"an order", lamp, func() {}, http.StatusAccepted},
		{"no order", "lamp", func() {}, http.StatusBadRequest},
		{"no id", `{"item":"lamp"}`, func() {}, http.StatusBadRequest},
		{"too large", `{"id":"1","item":"` + strings.Repeat("l", 32<<10) + `"}`, func() {}, http.StatusRequestEntityTooLarge},
		{"unconfirmed", lamp, func() { broker.Faults().CutAfter(Orders.Name(), 1) }, http.StatusGatewayTimeout},
		{"closed", lamp, func() { _ = orders.Close(t.Context()) }, http.StatusServiceUnavailable},
	} {
		c.fault()
		answer := httptest.NewRecorder()
		routes.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", strings.NewReader(c.body)))
		if answer.Code != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, answer.Code, answer.Body, c.want)
		}
	}
}

// A server that cannot serve ends the Run.
func TestServerThatFails(t *testing.T) {
	t.Parallel()
	listener := httptest.NewUnstartedServer(nil).Listener
	_ = listener.Close()
	if err := wherry.Run(t.Context(), serve(listener, http.NotFoundHandler())); err == nil {
		t.Error("it runs without a listener")
	}
}
