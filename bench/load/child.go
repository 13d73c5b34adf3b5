package load

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// A process that was started for one run gives up by itself.
const lifetime = 2 * time.Minute

// Child measures the [Order] that is its only argument, as JSON, and writes the [Report], as JSON. It is the whole of a
// process that [Run] starts. It returns the exit status: 1 when the order cannot be understood, which it says in the
// report.
func Child(args []string, stdout io.Writer) int {
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	defer cancel()
	order, err := parse(args)
	if err != nil {
		_ = json.NewEncoder(stdout).Encode(failed(err.Error())) //nolint:errchkjson // The status says it too.
		return 1
	}
	if err := json.NewEncoder(stdout).Encode(measure(ctx, order, openBackend)); err != nil {
		return 1
	}
	return 0
}

// measure runs a cell once.
func measure(ctx context.Context, o Order, open opener) Report {
	switch o.Spec.Subject {
	case matrix.Channel:
		return channel(ctx, o)
	case matrix.BareChannel:
		return bare(ctx, o)
	case matrix.Harness:
		return harness(o)
	}
	s, err := newStage(o, open)
	if err != nil {
		return failed("set the stage: " + err.Error())
	}
	report := measureOn(ctx, s)
	if err := s.close(ctx); err != nil {
		return failed("close the broker: " + err.Error())
	}
	return report
}

func measureOn(ctx context.Context, s *stage) Report {
	if s.spec.Codec == matrix.BytesView {
		return run(ctx, s, views(s.spec.Payload).with(s.spec.Keys))
	}
	c, err := codecOf(s.spec.Codec)
	if err != nil {
		return Report{None: &document.Reason{Code: document.NotMeasured, Text: err.Error()}}
	}
	return run(ctx, s, notes(c, s.spec.Payload).with(s.spec.Keys))
}

func run[T any](ctx context.Context, s *stage, b body[T]) Report {
	switch {
	case s.spec.Method == document.Offered:
		return offered(ctx, s, b, realPace)
	case s.spec.Method == document.Live:
		return live(ctx, s, b)
	case s.spec.Flow == matrix.Publish || s.spec.Flow == matrix.PublishBatch:
		return publish(ctx, s, b)
	case s.spec.Flow == matrix.Broadcast:
		return broadcast(ctx, s, b)
	default:
		return drain(ctx, s, b)
	}
}

func realPace(s *matrix.Spec) *pacer { return newPacer(s.Rate, s.Length) }
