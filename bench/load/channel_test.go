package load

import (
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/matrix"
)

// A row of a channel is void by the same faults as any other.
func TestOneFaultMakesAChannelVoid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instead map[uint32][]uint32 // what is sent in place of a message
		text    string
	}{
		"none":   {nil, ""},
		"lose":   {map[uint32][]uint32{fallen: {}}, "1 were lost"},
		"repeat": {map[uint32][]uint32{fallen: {fallen, fallen}}, "more than once"},
		"swap":   {map[uint32][]uint32{fallen: {}, fallen + 1: {fallen + 1, fallen}}, "out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Order{Spec: matrix.Spec{Cell: document.Cell{Consumers: 1}, Bound: 10}, Messages: messages}
			l, g, ids := ledger.New(messages), newGate(1), make(chan uint32, 10)
			r := exchange(t.Context(), o, exchanged{
				ledger: l, gate: g,
				receive: func() {
					lane := l.Lane(g.hold)
					for id := range ids {
						lane.Note(id)
					}
				},
				send: func(id int) {
					send, ok := c.instead[uint32(id)]
					if !ok {
						send = []uint32{uint32(id)}
					}
					for _, one := range send {
						ids <- one
					}
				},
				close: func() { close(ids) },
			})
			if c.text == "" {
				if r.Run == nil || r.Run.Ledger.Handled != messages+1 {
					t.Errorf("got %+v", r)
				}
				return
			}
			if r.Run != nil || r.None == nil || !strings.Contains(r.None.Text, c.text) {
				t.Errorf("got %+v, want a failure that says %q", r, c.text)
			}
		})
	}
}

// fallen is the message that a faulty channel treats wrongly.
const fallen = messages / 2
