package sample

import (
	"math"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/versus"
)

// peers makes rows of other libraries, doing the same work.
func peers() []document.Row {
	specs := versus.Cells()
	rows := make([]document.Row, 0, len(specs))
	for i := range specs {
		s := &specs[i]
		row := document.Row{Cell: s.Cell, Method: s.Method, Notes: s.Notes, Settings: []string{"buffer=10000"}}
		rate := peerSpeed(s.Cell)
		switch {
		case s.Method == document.Offered:
			row.Load = peerLoad(s.Cell)
		case s.Method == document.Drain && (s.Subject == versus.GoCloud || s.Subject == versus.Benthos || s.Subject == versus.Watermill):
			row.NotShown = &document.Reason{Code: document.Unsupported, Text: "keeps no backlog: it publishes to whoever listens"}
		case s.Subject == versus.Shove && s.Payload == 64<<10 && s.Consumers == 8:
			row.NotShown = &document.Reason{Code: document.NotMeasured, Text: "cargo is not installed"}
		case s.Flow == versus.Service && s.Method == document.Live:
			row.NotShown = &document.Reason{Code: document.NotMeasured, Text: "interrupted"}
		default:
			row.Runs = runs(s.Name(), s.Cell, rate, s.Rounds)
		}
		rows = append(rows, row)
	}
	return rows
}

// peerSpeed is a made-up rate.
func peerSpeed(c document.Cell) float64 {
	cores := 0.7 + 0.3*math.Min(float64(c.Consumers), 2)
	switch c.Subject {
	case versus.Watermill:
		return 410e3 * cores
	case versus.WatermillRouter:
		return 22e3 * cores
	case versus.GoCloud:
		return 130e3 * cores
	case versus.Benthos:
		return 260e3 * cores
	case versus.RustStream:
		return 1.2e6
	case versus.Shove:
		if c.Flow == matrix.Sequence {
			return 310e3
		}
		return 640e3 / (1 + float64(c.Payload)/512) / (0.6 + 0.4*math.Min(float64(c.Consumers), 4))
	default:
		return speed(document.Cell{
			Subject: c.Subject, Flow: matrix.Parallel, Payload: c.Payload, Consumers: c.Consumers, Handler: c.Handler, Codec: c.Codec,
			Procs: c.Procs,
		})
	}
}

// peerLoad makes a rung, which the peer does not sustain at the highest rate.
func peerLoad(c document.Cell) *document.Load {
	l := load(c)
	l.PeakLag = l.Published / 500
	if c.Subject != matrix.Wherry {
		l.Latency, l.FromSend = tail(40_000+7*float64(c.Rate)), tail(38_000+7*float64(c.Rate))
		if c.Rate == 100_000 {
			l.PeakLag = l.Published / 4
		}
	}
	thrice(l)
	return l
}
