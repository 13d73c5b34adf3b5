package versus

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/versus/program"
)

const (
	// lifetime is the most that one run may take.
	lifetime = 2 * time.Minute
	// patience is how long a program that was told to end may take.
	patience    = 2 * time.Second
	interrupted = "interrupted"
)

// A size is how large a run is.
type size struct {
	messages int           // of a drain, in each window
	least    time.Duration // what the windows of a drain take together, 0 for one window
}

// once runs a program for one run of a spec. What goes wrong is an answer with a reason.
func once(ctx context.Context, path string, s *matrix.Spec, n size) *program.Answer {
	o := &program.Options{
		Subject: s.Subject, Method: s.Method, Flow: s.Flow, Payload: s.Payload, Consumers: s.Consumers, Workers: s.Workers,
		Messages: n.messages, Window: int(n.least.Milliseconds()), Codec: s.Codec, Rate: s.Rate, Procs: s.Procs,
	}
	limited, cancel := context.WithTimeout(ctx, lifetime)
	defer cancel()
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(limited, path, o.Args()...)
	host.Apart(c)
	c.Stdout, c.Stderr, c.WaitDelay = &stdout, &stderr, patience
	c.Env = host.Environment(s.Procs, host.Timed())
	err := c.Run()
	switch {
	case ctx.Err() != nil, host.Interrupted(err):
		return none(document.NotMeasured, interrupted)
	case limited.Err() != nil:
		return none(document.Failed, "a run of %d messages did not end within %v", n.messages, lifetime)
	case err != nil:
		return none(document.Failed, "a run of %d messages: %s", n.messages, complaint(stderr.String(), err))
	}
	a, err := program.Read(&stdout, o)
	if err != nil {
		return none(document.Failed, "a run of %d messages: %v", n.messages, err)
	}
	if wrong := void(a); len(wrong) > 0 {
		return none(document.Failed, "%s", strings.Join(wrong, "; "))
	}
	return a
}

func none(code document.ReasonCode, format string, args ...any) *program.Answer {
	return &program.Answer{None: &document.Reason{Code: code, Text: fmt.Sprintf(format, args...)}}
}

// void is why a run has no number: a message that was lost or came twice, or out of an order that was promised.
func void(a *program.Answer) []string {
	var l document.Ledger
	switch {
	case a.Run != nil:
		l = a.Run.Ledger
	case a.Load != nil:
		l = a.Load.Ledger
	default:
		return nil
	}
	var wrong []string
	if lost := l.Published - l.Handled; lost > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d messages were lost", lost, l.Published))
	}
	if l.Duplicated > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d messages came twice", l.Duplicated, l.Published))
	}
	if l.Ordered && l.Reordered > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d messages came out of order", l.Reordered, l.Published))
	}
	return wrong
}
