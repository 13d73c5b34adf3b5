package reach

import (
	"slices"
	"testing"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/charts/sample"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/versus"
)

// TestLossesAreAllThere counts them by hand, and holds that whatever is below 1 is named.
func TestLossesAreAllThere(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	want := 0
	for _, p := range []*document.Part{d.Backends[0].Matrix, d.Backends[0].Peers} {
		for i := range p.Ratios {
			r := &p.Ratios[i]
			if i%3 == 0 {
				r.Low, r.Median, r.High = 0.4, 0.595, 0.7
			}
			if r.Median < 1 && r.Of.Subject == matrix.Wherry && r.To.Subject != matrix.Wherry && r.To.Subject != matrix.BareChannel {
				want++
			}
		}
	}
	rates := 0
	for _, l := range Losses(d) {
		if l.Figure == "rate" {
			rates++
		}
		if l.Ratio == "0.595× (0.4× to 0.7×)" && !l.Decided {
			t.Errorf("%s to %s is not decided", l.Cell, l.To)
		}
	}
	if rates != want || want == 0 {
		t.Errorf("%d losses are named, want %d", rates, want)
	}
}

// TestLossToAnotherCodec has a peer that is faster than the plain codec alone.
func TestLossToAnotherCodec(t *testing.T) {
	t.Parallel()
	d := &document.Document{Backends: []document.Backend{{Name: "mem", Peers: &document.Part{Ratios: []document.Ratio{
		{
			Of:  document.Cell{Subject: matrix.Wherry, Flow: versus.Service, Payload: 128, Codec: matrix.BytesView},
			To:  document.Cell{Subject: versus.RustStream, Flow: versus.Service, Payload: 128, Codec: matrix.JSON},
			Low: 0.9, Median: 0.95, High: 1.1, Rounds: 3,
		},
		{Of: document.Cell{Subject: matrix.Wherry}, To: document.Cell{Subject: matrix.BareChannel}, Median: 0.1, Rounds: 3},
		{Of: document.Cell{Subject: matrix.Wherry}, To: document.Cell{Subject: matrix.Channel}, Median: 1, Rounds: 3},
	}}}}}
	all := Losses(d)
	if len(all) != 1 {
		t.Fatalf("%d losses, want the first: %+v", len(all), all)
	}
	want := Loss{
		Part: "mem peers", Cell: "Wherry, service, 128 B, bytesview", To: "ruststream, json", Figure: "rate", Ratio: "0.95× (0.9× to 1.1×)",
		Interval: "lowest and highest of 3 rounds",
	}
	if all[0] != want {
		t.Errorf("%+v, want %+v", all[0], want)
	}
}

// TestLossOfLatency has a rung that takes longer than the peer's.
func TestLossOfLatency(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	of, to := rungIn(d.Backends[0].Peers, matrix.Wherry, 5_000), rungIn(d.Backends[0].Peers, "shove", 5_000)
	of.Load.FromSend.P99, of.Load.P99sFromSend = 3000, []int64{3000, 2000, 4000}
	to.Load.FromSend.P99, to.Load.P99sFromSend = 1000, []int64{1000, 1000, 1000}
	var found []Loss
	for _, l := range Losses(d) {
		if l.Figure != "rate" {
			found = append(found, l)
		}
	}
	if len(found) != 1 || found[0].Ratio != "3× (2× to 4×)" || !found[0].Decided || found[0].To != "shove, json" {
		t.Errorf("the losses of latency are %+v", found)
	}
}

// TestLossOfARate has rungs that a peer sustains and Wherry does not, has no number of, or was not measured at.
func TestLossOfARate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(r *document.Row)
		want   []Loss
	}{
		"not sustained": {func(r *document.Row) { r.Load.Sustained = false }, []Loss{{Ratio: "not sustained", Decided: true}}},
		"failed": {func(r *document.Row) {
			r.Load, r.NotShown = nil, &document.Reason{Code: document.Failed, Text: "of 5000 messages 1 were lost"}
		}, []Loss{{Ratio: "failed, of 5000 messages 1 were lost"}}},
		"not measured": {func(r *document.Row) {
			r.Load, r.NotShown = nil, &document.Reason{Code: document.NotMeasured, Text: document.Interrupted}
		}, nil},
		"sustained": {func(*document.Row) {}, nil},
	} {
		d := sample.Document()
		of := rungIn(d.Backends[0].Peers, matrix.Wherry, 25_000)
		test.change(of)
		var found []Loss
		for _, l := range Losses(d) {
			if l.Figure == "a rate that is sustained" {
				found = append(found, l)
			}
		}
		for i := range test.want {
			l := &test.want[i]
			l.Part, l.Cell, l.To, l.Figure = "mem peers", charts.Name(&of.Cell), "shove, json", "a rate that is sustained"
		}
		if !slices.Equal(found, test.want) {
			t.Errorf("%s: %+v, want %+v", name, found, test.want)
		}
	}
}
