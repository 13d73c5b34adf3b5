package sample

import (
	"fmt"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// counted makes rows of instructions and allocations.
func counted() []document.Row {
	scenarios := []struct {
		name, over, codec   string
		consumers           int
		instructions, block float64
	}{
		{"channel", "", matrix.BytesView, 1, 412, 0},
		{"channel-bare", "", matrix.BytesView, 1, 148, 0},
		{"hand", "", matrix.BytesView, 1, 391, 0},
		{"hand-drain", "", matrix.BytesView, 1, 214, 0},
		{"live", "channel", matrix.BytesView, 1, 689, 0},
		{"consume", "hand-drain", matrix.BytesView, 1, 448, 0},
		{"publish", "hand", matrix.BytesView, 1, 236, 0},
		{"batch", "consume", matrix.BytesView, 1, 317, 0.02},
		{"redelivery", "live", matrix.BytesView, 1, 903, 0.4},
		{"consume-4", "consume", matrix.BytesView, 4, 702, 0},
		{"live-4", "channel", matrix.BytesView, 4, 771, 0},
		{"middleware-1", "consume", matrix.BytesView, 1, 459, 0},
		{"middleware-log", "consume", matrix.BytesView, 1, 475, 0},
		{"middleware-timeout", "consume", matrix.BytesView, 1, 512, 1},
		{"decode-json", "", matrix.JSON, 1, 14_546, 7},
		{"hand-drain-json", "", matrix.JSON, 1, 14_811, 7},
		{"consume-json", "hand-drain-json", matrix.JSON, 1, 15_047, 7},
		{"consume-4-json", "consume-json", matrix.JSON, 4, 15_402, 7},
		{"batch-json", "consume-json", matrix.JSON, 1, 14_931, 7},
	}
	rows := make([]document.Row, 0, len(scenarios)+1)
	for _, s := range scenarios {
		payload := 64
		if s.codec == matrix.JSON {
			payload = 128
		}
		row := document.Row{
			Cell: document.Cell{
				Subject: matrix.Wherry, Flow: s.name, Payload: payload, Consumers: s.consumers, Workers: 1, Handler: matrix.Zero,
				Codec: s.codec, Procs: 1,
			},
			Method: document.Count, Code: &document.Code{Over: s.over},
		}
		for i := range 7 {
			const n = 20_000
			slope := s.instructions * (1 + 0.001*noise(s.name, i))
			row.Code.Runs = append(row.Code.Runs, document.CodeRun{
				N: n, InstrN: 9_000_000 + int64(slope*n), Instr2N: 9_000_000 + 2*int64(slope*n),
				BlocksN: 900 + int64(s.block*n), Blocks2N: 900 + 2*int64(s.block*n),
				BytesN: 90_000 + int64(s.block*n*48), Bytes2N: 90_000 + 2*int64(s.block*n*48),
				ColdInstr: 1_210_000, ColdBlocks: 1300,
			})
		}
		rows = append(rows, row)
	}
	return append(rows, document.Row{
		Cell: document.Cell{
			Subject: matrix.Wherry, Flow: "sequence", Payload: 64, Consumers: 1, Workers: 1, Handler: matrix.Zero,
			Codec: matrix.BytesView, Procs: 1,
		},
		Method:   document.Count,
		NotShown: &document.Reason{Code: document.Unsupported, Text: "sequences are not there yet"},
	})
}

// peers makes rows of other libraries, doing the same work.
func peers() []document.Row {
	var rows []document.Row
	add := func(method document.Method, flow, subject, codec string, payload, consumers, procs int, rate float64) {
		c := document.Cell{
			Subject: subject, Flow: flow, Payload: payload, Consumers: consumers, Handler: matrix.Zero, Codec: codec, Procs: procs,
		}
		row := document.Row{Cell: c, Method: method, Settings: []string{"buffer=10000"}}
		if rate == 0 {
			row.NotShown = &document.Reason{Code: document.NotMeasured, Text: "cargo is not installed"}
		} else {
			row.Runs = runs(fmt.Sprint(subject, flow, payload, consumers), c, rate, 5)
		}
		rows = append(rows, row)
	}
	for _, n := range []int{1, 4} {
		for _, p := range []struct {
			subject string
			rate    float64
		}{
			{matrix.Wherry, 2.1e6},
			{matrix.Channel, 2e6},
			{"watermill", 410e3},
			{"watermill-router", 22e3},
			{"gocloud", 130e3},
			{"benthos", 260e3},
		} {
			add(document.Live, matrix.Parallel, p.subject, matrix.BytesView, 64, n, 2, p.rate*(1+0.05*float64(n)))
		}
	}
	for _, payload := range []int{64, 1 << 10, 64 << 10} {
		for _, n := range []int{1, 2, 4, 8} {
			rate := 1.6e6 / (1 + float64(payload)/512)
			add(document.Drain, matrix.Parallel, matrix.Wherry, matrix.FastJSON, payload, n, 2, rate*(0.7+0.3*float64(min(n, 2))))
			shove := rate * 0.4 / (0.6 + 0.4*float64(min(n, 4)))
			if payload == 64<<10 && n == 8 {
				shove = 0
			}
			add(document.Drain, matrix.Parallel, "shove", matrix.JSON, payload, n, 2, shove)
		}
	}
	for _, subject := range []string{matrix.Wherry, "shove"} {
		for _, rate := range []int{5_000, 25_000, 100_000} {
			rows = append(rows, peerRung(subject, rate))
		}
	}
	add(document.Drain, "service", matrix.Wherry, matrix.FastJSON, 128, 1, 1, 1.1e6)
	add(document.Drain, "service", "ruststream", matrix.JSON, 128, 1, 1, 1.2e6)
	return rows
}

// peerRung makes a rung whose load the peer does not sustain at the highest rate.
func peerRung(subject string, rate int) document.Row {
	c := document.Cell{
		Subject: subject, Flow: matrix.Parallel, Payload: 64, Consumers: 1, Handler: matrix.Zero, Codec: matrix.JSON, Rate: rate,
		Procs: 2,
	}
	l := load(c)
	l.PeakLag = l.Published / 500
	if subject == "shove" {
		l.Latency, l.FromSend = tail(40_000+7*float64(rate)), tail(38_000+7*float64(rate))
		if rate == 100_000 {
			l.PeakLag = l.Published / 4
		}
	}
	return document.Row{Cell: c, Method: document.Offered, Load: l, Settings: []string{"buffer=10000"}}
}

// peerRatios asks for the ratio of Wherry to each peer that did the same work.
func peerRatios(rows []document.Row) []document.Ratio {
	var ratios []document.Ratio
	for i := range rows {
		for j := range rows {
			of, to := &rows[i], &rows[j]
			if of.Subject == matrix.Wherry && to.Subject != matrix.Wherry && of.Method == to.Method && of.Flow == to.Flow &&
				of.Payload == to.Payload && of.Consumers == to.Consumers && of.Procs == to.Procs && of.Method != document.Offered {
				ratios = append(ratios, document.Ratio{Of: of.Cell, To: to.Cell})
			}
		}
	}
	return ratios
}
