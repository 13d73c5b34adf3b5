package matrix

import "github.com/wherryhq/wherry/bench/document"

// doubt is how far above its bound an efficiency may stand, since rows are not exact.
const doubt = 1.05

// Implausible reports whether a row's efficiency is above what there is to share: the processors, or the consumers where the
// handler sleeps and so takes none. The row of one consumer was slow then. A row without an efficiency is plausible.
func Implausible(r *document.Row) bool {
	if r.Summary == nil || r.Summary.Efficiency == nil {
		return false
	}
	most := r.Consumers
	if r.Handler == Zero || r.Handler == Compute {
		most = min(most, r.Procs)
	}
	return *r.Summary.Efficiency > doubt*float64(most)
}
