package matrix

import (
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

func TestImplausible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		handler    string
		consumers  int
		efficiency float64
		want       bool
	}{
		{Zero, 2, 2.36, true},
		{Zero, 4, 2.2, true},
		{Zero, 8, 1.97, false},
		{Zero, 4, 2.05, false},
		{Compute, 8, 2.5, true},
		{Wait, 8, 7.84, false},
		{Limited, 2, 2.02, false},
		{Slow, 8, 9.1, true},
	} {
		r := &document.Row{
			Cell:    document.Cell{Handler: c.handler, Consumers: c.consumers, Procs: 2},
			Summary: &document.Summary{Efficiency: &c.efficiency},
		}
		if Implausible(r) != c.want {
			t.Errorf("%s: %v of %d consumers is implausible: %v", c.handler, c.efficiency, c.consumers, !c.want)
		}
	}
	if Implausible(&document.Row{}) || Implausible(&document.Row{Summary: &document.Summary{}}) {
		t.Error("a row without an efficiency is implausible")
	}
}
