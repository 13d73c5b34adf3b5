package gap

import "slices"

// A run is finished from its first position up to, but not including, its end.
type run struct{ from, end uint64 }

// finished is the set of positions that are never handled again: all below the mark, and the runs above it. Runs are sorted,
// do not touch each other, and do not touch the mark. The zero value has nothing.
type finished struct {
	mark uint64
	// The runs are list[head:]. What is finished next lies near one end or the other: at the mark, or at the latest
	// position received. So room is kept at both.
	list []run
	head int
	// count is the number of positions in runs, and width what the runs take in a state. Both are kept, since they are
	// asked for after each message.
	count uint64
	width int
}

func (f *finished) runs() []run { return f.list[f.head:] }

// end is the position above everything that is finished.
func (f *finished) end() uint64 {
	if f.head == len(f.list) {
		return f.mark
	}
	return f.list[len(f.list)-1].end
}

func (f *finished) has(p uint64) bool {
	if p < f.mark || p >= f.end() {
		return p < f.mark
	}
	runs := f.runs()
	return runs[firstEnding(runs, p+1)].from <= p
}

// firstEnding returns the index of the first run that ends at p or above it.
func firstEnding(runs []run, p uint64) int {
	// Mostly that is none, or the last.
	n := len(runs)
	if n == 0 || runs[n-1].end < p {
		return n
	}
	if n == 1 || runs[n-2].end < p {
		return n - 1
	}
	i, _ := slices.BinarySearchFunc(runs, p, func(r run, p uint64) int {
		if r.end < p {
			return -1
		}
		return 1
	})
	return i
}

// add finishes the positions from the first up to, but not including, the end, whatever of them was finished before.
func (f *finished) add(from, end uint64) {
	from = max(from, f.mark)
	if from >= end {
		return
	}
	runs := f.runs()
	if len(runs) == 0 && from == f.mark {
		f.mark = end // in order, as most come
		return
	}

	// Those from i up to j touch what is added, and become one run with it.
	i := firstEnding(runs, from)
	j := i
	for j < len(runs) && runs[j].from <= end {
		f.count -= runs[j].end - runs[j].from
		f.width -= f.widthOf(j)
		from, end = min(from, runs[j].from), max(end, runs[j].end)
		j++
	}
	// The one behind them begins at another distance from what is before it.
	if j < len(runs) {
		f.width -= f.widthOf(j)
	}
	after := i + 1
	if from == f.mark {
		f.mark = end
		f.remove(i, j)
		after = i
	} else {
		f.replace(i, j, run{from, end})
		f.count += end - from
		f.width += f.widthOf(i)
	}
	if after < len(f.runs()) {
		f.width += f.widthOf(after)
	}
}

// widthOf is what the run at i takes in a state.
func (f *finished) widthOf(i int) int {
	runs := f.runs()
	before := f.mark
	if i > 0 {
		before = runs[i-1].end
	}
	return runs[i].width(before)
}

// replace puts one run in the place of those from i up to j.
func (f *finished) replace(i, j int, r run) {
	if i == j {
		f.makeRoom(i)
	} else {
		f.remove(i+1, j)
	}
	f.list[f.head+i] = r
}

// makeRoom moves the runs on the shorter side of i, so that one more fits there.
func (f *finished) makeRoom(i int) {
	n := len(f.runs())
	if f.head > 0 && i < n-i {
		f.head--
		copy(f.list[f.head:], f.list[f.head+1:f.head+1+i])
		return
	}
	if len(f.list) == cap(f.list) && f.head > n {
		// More is free in front than is used: that pays for moving everything there.
		f.list = f.list[:copy(f.list, f.list[f.head:])]
		f.head = 0
	}
	f.list = slices.Insert(f.list, f.head+i, run{})
}

// remove takes out the runs from i up to j, and moves those on the shorter side.
func (f *finished) remove(i, j int) {
	n := len(f.runs())
	switch {
	case i == j:
	case j-i == n:
		f.list, f.head = f.list[:0], 0
	case i < n-j:
		copy(f.list[f.head+j-i:], f.list[f.head:f.head+i])
		f.head += j - i
	default:
		f.list = slices.Delete(f.list, f.head+i, f.head+j)
	}
}
