package health

import (
	"net/http"
	"time"

	"github.com/wherryhq/wherry"
)

// A Set is the consumers whose health is served together. An empty Set, and a nil consumer in one, are never ready, since
// they are mistakes that nothing else would find.
type Set []*wherry.Consumer

// Of returns the set of consumers.
func Of(consumers ...*wherry.Consumer) Set { return consumers }

// An Option sets something of a handler.
type Option func(*spec)

// spec is what options set.
type spec struct {
	errors    bool
	stalls    bool
	stallTime time.Duration
}

// ShowErrors adds to each cause the text of the error behind it, where there is one. It is the broker's and may name
// hosts, so it is for handlers that strangers do not reach.
func ShowErrors() Option { return func(s *spec) { s.errors = true } }

// StallLimit makes liveness fail once a consumer has been stalled for d, which begins when its stall time is over: see
// wherry.StallAfter. It is for handlers that can block for ever and that a restart frees; what waits for a slow database
// waits again afterwards, in every process. 0 and less is at once. Readiness does not wait for it.
func StallLimit(d time.Duration) Option {
	return func(s *spec) { s.stalls, s.stallTime = true, d }
}

// Ready answers 200 when every consumer is ready and 503 otherwise. The handler answers GET and HEAD, may be used by any
// number of goroutines, and never blocks: it asks no broker. With a nil option it answers 500 with that mistake.
func (s Set) Ready(opts ...Option) http.Handler {
	return newHandler(s, opts, "ready", "not ready", func(h *wherry.Health, _ *spec) bool { return h.Ready })
}

// Live answers 200 as long as the process answers, and 503 when a stall lasts beyond a [StallLimit]. The handler is else
// as that of Ready.
func (s Set) Live(opts ...Option) http.Handler {
	return newHandler(s, opts, "live", "not live", func(h *wherry.Health, o *spec) bool {
		return !o.stalls || h.State != wherry.StateStalled || time.Since(h.Since) < o.stallTime
	})
}

// Handler answers /live and /ready as Live and Ready do, with the same options, and nothing else.
func (s Set) Handler(opts ...Option) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/live", s.Live(opts...))
	mux.Handle("/ready", s.Ready(opts...))
	return mux
}
