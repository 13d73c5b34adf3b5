package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/versus/program"
)

// An Order is what a process of its own is to measure, once.
type Order struct {
	Backend  string      `json:"backend"`
	Spec     matrix.Spec `json:"spec"`
	Messages int         `json:"messages"` // of the corpus, or in the window of a live row; a rung has its own number
	Round    int         `json:"round"`
	// Stop asks for the time that a consumer takes to stop while it holds all that it may.
	Stop bool `json:"stop,omitempty"`
}

// parse reads an order in JSON, or the flags that the programs of other subjects take.
func parse(args []string) (Order, error) {
	if len(args) != 1 || !strings.HasPrefix(args[0], "{") {
		return parseFlags(args)
	}
	var o Order
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return o, fmt.Errorf("the order is not understood: %w", err)
	}
	if o.Messages < 1 && o.Spec.Method != document.Offered {
		return o, errors.New("the order has no messages")
	}
	return o, nil
}

// parseFlags makes an order of a cell on the in-process broker, with what the matrix says of its flow.
func parseFlags(args []string) (Order, error) {
	p, err := program.Parse(args, io.Discard)
	if err != nil {
		return Order{}, err
	}
	o := Order{Backend: "mem", Messages: p.Messages, Spec: matrix.Spec{
		Cell: document.Cell{
			Subject: p.Subject, Flow: p.Flow, Payload: p.Payload, Consumers: p.Consumers, Workers: p.Workers,
			Handler: matrix.Zero, Codec: p.Codec, Rate: p.Rate, Procs: p.Procs,
		},
		Method: p.Method,
	}}
	s := &o.Spec
	if s.Subject == "" {
		s.Subject = matrix.Wherry
	}
	flows := []string{matrix.Publish, matrix.PublishBatch, matrix.Parallel, matrix.Batch, matrix.Group, matrix.DeadLetter}
	if !slices.Contains(flows, s.Flow) {
		return o, fmt.Errorf("-flow=%s: one of %s", s.Flow, strings.Join(flows, ", "))
	}
	if s.Flow == matrix.Batch {
		s.BatchSize, s.BatchAge = matrix.BatchSize, matrix.BatchAge
	}
	switch s.Method {
	case document.Drain:
		s.MaxBodies = int64(max(1, p.Messages)) * int64(2*p.Payload+bodyOverhead)
	case document.Offered:
		s.Bound = matrix.Bound
		s.Length = time.Duration(int64(p.Messages) * int64(time.Second) / int64(p.Rate))
	default:
		s.Bound = matrix.Bound
	}
	return o, nil
}

// bodyOverhead is more than what a body has besides its payload.
const bodyOverhead = 1 << 10
