package versus

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/bench/document"
)

// What a run takes beside its window: its process, and of a drain its corpus.
const (
	processTime = 150 * time.Millisecond
	fillTime    = 1200 * time.Millisecond
)

// expected is about how long the probe and a run of the row take.
func (r *row) expected() (probe, run time.Duration) {
	switch r.spec.Method {
	case document.Offered:
		return 0, r.spec.Length + time.Second
	case document.Drain:
		return 2 * processTime, r.window() + fillTime + processTime
	default:
		return 2 * processTime, r.window() + processTime
	}
}

// round measures each row of a turn once, in an order that begins with another row each round.
func (r *runner) round(ctx context.Context, turn []*row, round int) {
	for i := range turn {
		row := turn[(i+round)%len(turn)]
		if row.over || ctx.Err() != nil {
			continue
		}
		if row.spec.Method == document.Offered {
			r.rung(ctx, row)
		} else {
			r.runOnce(ctx, row, round)
		}
	}
}

// runOnce makes one run of a row that is long enough.
func (r *runner) runOnce(ctx context.Context, row *row, round int) {
	if row.messages == 0 && !r.probe(ctx, row) {
		return
	}
	for try := 1; ; try++ {
		messages := row.messages
		a := r.run(ctx, row.path, &row.spec, size{messages, row.least()})
		if a.None != nil {
			row.end(a.None)
			return
		}
		took := time.Duration(a.Run.ElapsedNS)
		if row.quick || took >= shortest {
			row.add(a, round)
			return
		}
		row.size(a.Run)
		if try == tries || row.messages <= messages {
			row.end(&document.Reason{Code: document.TooShort, Text: fmt.Sprintf(
				"%d messages took %v, and %v is the shortest that counts", messages, took.Round(time.Millisecond), shortest)})
			return
		}
	}
}

// probe finds the size of the runs of a row, by runs that grow until one is long enough to tell.
func (r *runner) probe(ctx context.Context, row *row) bool {
	for messages := row.probe(); ; messages *= 8 {
		a := r.run(ctx, row.path, &row.spec, size{messages: messages})
		if a.None != nil {
			row.end(a.None)
			return false
		}
		row.size(a.Run)
		if a.Run.ElapsedNS >= int64(probeWindow) || row.messages <= 2*messages {
			return true
		}
	}
}

// rung measures one rate once, unless a lower one of the same subject was not sustained. A run whose pacer was late counts as
// every other: to make it again would prefer those of a long latency, beside which the pacer's is little.
func (r *runner) rung(ctx context.Context, row *row) {
	if below := r.unsustained(row); below > 0 {
		row.end(unbuilt("the ladder stopped at %d/s, which was not sustained", below))
		return
	}
	messages := int(int64(row.spec.Rate) * int64(row.spec.Length) / int64(time.Second))
	a := r.run(ctx, row.path, &row.spec, size{messages: messages})
	if a.None != nil {
		row.end(a.None)
		return
	}
	row.result.Settings = a.Settings
	row.loads = append(row.loads, a.Load)
	if len(row.loads) == row.spec.Rounds {
		row.result.TakeMedian(row.loads)
	}
}

// unsustained is a lower rate of the subject that was not sustained, or 0.
func (r *runner) unsustained(of *row) int {
	for _, row := range r.rows {
		if l := row.result.Load; row.spec.Subject == of.spec.Subject && row.spec.Method == of.spec.Method &&
			row.spec.Rate < of.spec.Rate && l != nil && !l.Sustained {
			return row.spec.Rate
		}
	}
	return 0
}
