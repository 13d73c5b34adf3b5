package sample

import (
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
		{"sequence", "consume", matrix.BytesView, 1, 1_210, 0},
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
				Subject: matrix.Wherry, Flow: s.name, Payload: payload, Consumers: s.consumers, Handler: matrix.Zero,
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
			Subject: matrix.Wherry, Flow: "flow", Payload: 64, Consumers: 1, Handler: matrix.Zero,
			Codec: matrix.BytesView, Procs: 1,
		},
		Method:   document.Count,
		NotShown: &document.Reason{Code: document.Unsupported, Text: "flows are not there yet"},
	})
}
