package gap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What is kept beside the runs is what they say, after whatever was added in whatever order.
func TestFinishedIsWhatWasAdded(t *testing.T) {
	t.Parallel()
	const seeds, adds, span = 300, 100, 120
	for seed := range uint64(seeds) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		base := []uint64{0, 1 << 33, maxPosition - span}[rnd.IntN(3)]
		scale := []uint64{1, 1, 6}[rnd.IntN(3)]
		if base > 1<<60 {
			scale = 1
		}
		f := finished{mark: base}
		all := map[uint64]bool{}
		for range adds {
			from := base + rnd.Uint64N(span)*scale
			end := min(from+rnd.Uint64N(4)*rnd.Uint64N(4), base+span*scale)
			f.add(from, end)
			for p := from; p < end; p++ {
				all[p] = true
			}
			wantFinished(t, &f, base, base+(span+1)*scale, all)
			if t.Failed() {
				t.Fatalf("seed %d, after %d to %d: %+v", seed, from, end, f.runs())
			}
		}
	}
	t.Logf("%d seeds, %d steps", seeds, seeds*adds)
}

func wantFinished(t *testing.T, f *finished, base, top uint64, all map[uint64]bool) {
	t.Helper()
	mark := base
	for all[mark] {
		mark++
	}
	var runs []run
	var count uint64
	for p := mark; p < top; p++ {
		if f.has(p) != all[p] {
			t.Errorf("it has %d: %v", p, f.has(p))
		}
		if !all[p] {
			continue
		}
		count++
		if n := len(runs); n > 0 && runs[n-1].end == p {
			runs[n-1].end++
		} else {
			runs = append(runs, run{p, p + 1})
		}
	}
	if f.mark != mark || f.count != count || !slices.Equal(f.runs(), runs) {
		t.Errorf("mark %d, count %d, runs %v; want %d, %d, %v", f.mark, f.count, f.runs(), mark, count, runs)
	}
	width, before := 0, mark
	for _, r := range runs {
		width += len(appendNumber(nil, r.from-before-1)) + len(appendNumber(nil, r.end-r.from-1))
		before = r.end
	}
	if f.width != width {
		t.Errorf("the runs take %d, it says %d", width, f.width)
	}
	if base > 0 && !f.has(base-1) {
		t.Error("it has not what is below the mark")
	}
}

// The memory of runs that were taken out in front is used again: what has passed costs nothing.
func TestFinishedKeepsNoMoreThanItsRuns(t *testing.T) {
	t.Parallel()
	var f finished
	const window = 64
	for p := range uint64(100_000) {
		f.add(2*p+window, 2*p+window+1) // a run at the far end
		f.add(2*p, 2*p+1)               // and the mark comes after it
		f.add(2*p+1, 2*p+2)
	}
	if n := cap(f.list); n > 4*window {
		t.Errorf("room for %d runs, and there were %d at most", n, window)
	}
}
