package health

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/wherryhq/wherry"
)

// A Report is the body of an answer.
type Report struct {
	// Status is "ready", "not ready", "live" or "not live".
	Status    string           `json:"status"`
	Consumers []ConsumerReport `json:"consumers"`
}

// A ConsumerReport is a consumer's part of a [Report]. Its names are those of wherry.Health.
type ConsumerReport struct {
	Consumer string       `json:"consumer"`
	Topic    string       `json:"topic"`
	Group    string       `json:"group,omitempty"` // absent in a queue
	State    wherry.State `json:"state"`
	Ready    bool         `json:"ready"`
	Cause    string       `json:"cause,omitempty"`
	Error    string       `json:"error,omitempty"` // by option
	Since    *time.Time   `json:"since,omitempty"` // absent where the consumer was not run yet
	InFlight int          `json:"in_flight"`
	Handled  uint64       `json:"handled"`
	Backlog  *int64       `json:"backlog,omitempty"` // absent where the broker does not tell
	// OldestSeconds is the age of the oldest message that waits at the broker.
	OldestSeconds float64 `json:"oldest_seconds,omitempty"`
	// Rate is how many messages a second were handled of late while work waited; absent where it is not known.
	Rate float64 `json:"rate,omitempty"`
	// Workers is how many run; absent where none does. The bounds are absent where they are the same.
	Workers    int `json:"workers,omitempty"`
	MinWorkers int `json:"min_workers,omitempty"`
	MaxWorkers int `json:"max_workers,omitempty"`
	// Aside is how many keys are set aside, under wherry.FailAll and wherry.Park; absent where none is.
	Aside int `json:"aside,omitempty"`
	// Scaled is the last change of their number; absent where there was none.
	Scaled *ScaledReport `json:"scaled,omitempty"`
}

// A ScaledReport is the last change of a consumer's number of workers.
type ScaledReport struct {
	At   time.Time `json:"at"`
	From int       `json:"from"`
	To   int       `json:"to"`
	Why  string    `json:"why"`
}

// handler answers one of the questions.
type handler struct {
	set     Set
	spec    spec
	yes, no string
	well    func(h *wherry.Health, o *spec) bool
}

func newHandler(s Set, opts []Option, yes, no string, well func(*wherry.Health, *spec) bool) http.Handler {
	h := &handler{set: s, yes: yes, no: no, well: well}
	for i, o := range opts {
		if o == nil {
			return mistaken(fmt.Sprintf("health: option %d is nil", i+1))
		}
		o(&h.spec)
	}
	return answers(func() (int, any) {
		report, well := h.report()
		if !well {
			return http.StatusServiceUnavailable, report
		}
		return http.StatusOK, report
	})
}

// answers is a handler that answers GET and HEAD with a status and a body in JSON.
type answers func() (status int, body any)

// ServeHTTP implements [http.Handler].
func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	status, report := a()
	body, err := json.Marshal(report)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	body = append(body, '\n')
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // whoever asked has gone
	}
}

// mistaken is a handler that was made by mistake, and says so: it answers nothing else.
func mistaken(text string) http.Handler {
	return answers(func() (int, any) {
		return http.StatusInternalServerError, map[string]string{"error": text}
	})
}

// report is the answer and whether all is well.
func (h *handler) report() (Report, bool) {
	out := Report{Status: h.yes, Consumers: make([]ConsumerReport, 0, len(h.set))}
	well := true
	for _, c := range h.set {
		health := wherry.Health{State: wherry.StateIdle, Cause: "the consumer is nil", Backlog: -1}
		if c != nil {
			health = c.Health()
		}
		well = well && h.well(&health, &h.spec)
		out.Consumers = append(out.Consumers, h.consumer(&health))
	}
	if len(h.set) == 0 {
		well = h.well(&wherry.Health{State: wherry.StateIdle}, &h.spec)
	}
	if !well {
		out.Status = h.no
	}
	return out, well
}

func (h *handler) consumer(from *wherry.Health) ConsumerReport {
	out := ConsumerReport{
		Consumer: from.Consumer, Topic: from.Topic, Group: from.Group, State: from.State, Ready: from.Ready,
		Cause: from.Cause, InFlight: from.InFlight, Handled: from.Handled, OldestSeconds: from.Oldest.Seconds(),
		Rate: from.Rate, Workers: from.Workers, Aside: from.Aside,
	}
	if from.MinWorkers != from.MaxWorkers {
		out.MinWorkers, out.MaxWorkers = from.MinWorkers, from.MaxWorkers
	}
	if d := from.Scaled; !d.At.IsZero() {
		out.Scaled = &ScaledReport{At: d.At.UTC(), From: d.From, To: d.To, Why: d.Why}
	}
	if h.spec.errors {
		out.Error = from.Detail
	}
	if !from.Since.IsZero() {
		since := from.Since.UTC()
		out.Since = &since
	}
	if from.Backlog >= 0 {
		out.Backlog = &from.Backlog
	}
	return out
}
