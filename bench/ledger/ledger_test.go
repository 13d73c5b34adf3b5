package ledger

import (
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
)

// written is a ledger with these numbers in its lanes.
func written(messages int, lanes ...[]uint32) *Ledger {
	l := New(messages)
	for _, ids := range lanes {
		n := l.Lane(nil)
		for _, id := range ids {
			n.Note(id)
		}
	}
	return l
}

func TestJudge(t *testing.T) {
	t.Parallel()
	ordered := Order{Promised: true}
	for _, c := range []struct {
		name  string
		lanes [][]uint32
		order Order
		want  document.Ledger
	}{
		{"nothing", nil, ordered, document.Ledger{Published: 6, Lost: 6, Ordered: true}},
		{"all", [][]uint32{{0, 2, 3}, {1, 4, 5}}, Order{}, document.Ledger{Published: 6, Handled: 6}},
		{"lost", [][]uint32{{0, 2, 3, 4, 5}}, ordered, document.Ledger{Published: 6, Handled: 5, Lost: 1, Ordered: true}},
		{
			"twice in one lane",
			[][]uint32{{0, 1, 2, 2, 3, 4, 5}},
			ordered,
			document.Ledger{Published: 6, Handled: 6, Duplicated: 1, Ordered: true},
		},
		{
			"twice in two lanes",
			[][]uint32{{0, 1, 2, 3, 4, 5}, {3}},
			Order{},
			document.Ledger{Published: 6, Handled: 6, Duplicated: 1},
		},
		{
			"lost and twice",
			[][]uint32{{0, 1, 3, 3, 4, 5}},
			Order{},
			document.Ledger{Published: 6, Handled: 5, Lost: 1, Duplicated: 1},
		},
		{"never published", [][]uint32{{0, 1, 2, 3, 4, 5, 6}}, Order{}, document.Ledger{Published: 6, Handled: 6, Duplicated: 1}},
		{
			"swapped",
			[][]uint32{{0, 2, 1, 3, 4, 5}},
			ordered,
			document.Ledger{Published: 6, Handled: 6, Reordered: 1, Ordered: true},
		},
		{"swapped, and no order promised", [][]uint32{{0, 2, 1, 3, 4, 5}}, Order{}, document.Ledger{Published: 6, Handled: 6}},
		{
			"order of each stream",
			[][]uint32{{1, 0, 3, 5, 2, 4}},
			Order{Promised: true, Streams: 2},
			document.Ledger{Published: 6, Handled: 6, Ordered: true},
		},
		{
			"one stream out of order",
			[][]uint32{{1, 0, 5, 3, 2, 4}},
			Order{Promised: true, Streams: 2},
			document.Ledger{Published: 6, Handled: 6, Reordered: 1, Ordered: true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := written(6, c.lanes...).Judge(6, c.order); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// One fault in a large run is seen, wherever it is: at the edge of a word and of a chunk, too.
func TestOneFaultInMany(t *testing.T) {
	t.Parallel()
	const messages = 3*chunk + 17
	for _, at := range []uint32{0, 63, 64, chunk - 1, chunk, messages - 1} {
		lost, twice := New(messages), New(messages)
		a, b, c := lost.Lane(nil), twice.Lane(nil), twice.Lane(nil)
		for id := range uint32(messages) {
			if id != at {
				a.Note(id)
			} else {
				c.Note(id)
			}
			b.Note(id)
		}
		want := document.Ledger{Published: messages, Handled: messages - 1, Lost: 1}
		if got := lost.Judge(messages, Order{}); got != want {
			t.Errorf("lost %d: got %+v, want %+v", at, got, want)
		}
		want = document.Ledger{Published: messages, Handled: messages, Duplicated: 1}
		if got := twice.Judge(messages, Order{}); got != want {
			t.Errorf("%d twice: got %+v, want %+v", at, got, want)
		}
	}
}

func TestTold(t *testing.T) {
	t.Parallel()
	const messages = 3 * exactTail
	l := New(messages)
	n := l.Lane(nil)
	start := time.Now()
	for id := range uint32(messages) {
		n.Note(id)
		noted := int64(id) + 1
		if told := l.Told(); told > noted || told < noted-l.Untold() {
			t.Fatalf("told of %d after %d", told, noted)
		}
		if id >= messages-exactTail && l.Told() != noted {
			t.Fatalf("told of %d after %d of the last messages", l.Told(), noted)
		}
	}
	if last := l.Last(); last.Before(start) || last.After(time.Now()) {
		t.Errorf("the last was at %v, the start at %v", last, start)
	}
}

func TestTell(t *testing.T) {
	t.Parallel()
	l := New(10 * exactTail)
	n := l.Lane(nil)
	for id := range uint32(10) {
		n.Note(id)
	}
	if told := l.Told(); told != 1 {
		t.Errorf("told of %d without being asked, want the first alone", told)
	}
	if n.Tell(); l.Told() != 10 {
		t.Errorf("told of %d when asked, want 10", l.Told())
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	var held []int64
	l := New(10_000)
	n := l.Lane(func() { held = append(held, l.Told()) })
	n.Note(0)
	n.Note(1)
	if len(held) != 1 || held[0] != 1 {
		t.Errorf("held at %v, want once, when one was told of", held)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	l := New(2 * chunk)
	n := l.Lane(nil)
	for id := range uint32(2*chunk + 1) {
		n.NoteAt(id, int64(id)*3)
	}
	seen := 0
	l.Entries(func(id uint32, at int64) {
		if at != int64(id)*3 || int(id) != seen {
			t.Fatalf("entry %d is %d at %d", seen, id, at)
		}
		seen++
	})
	if seen != 2*chunk+1 {
		t.Errorf("%d entries", seen)
	}
}

func TestBusiest(t *testing.T) {
	t.Parallel()
	if got := written(4, []uint32{0, 1, 2}, []uint32{3}).Busiest(); got != 0.75 {
		t.Errorf("got %v, want 0.75", got)
	}
	if got := New(4).Busiest(); got != 0 {
		t.Errorf("got %v of nothing, want 0", got)
	}
}

func TestFinder(t *testing.T) {
	t.Parallel()
	const owners, notes = slots + 50, 20
	l := New(owners * notes)
	f := NewFinder[[16]byte](func() *Lane { return l.Lane(nil) })
	var all sync.WaitGroup
	var owned [owners][16]byte // they live at once, so that no two have one address
	for i := range owners {
		all.Go(func() {
			for j := range notes {
				f.Lane(&owned[i]).Note(uint32(i*notes + j))
			}
		})
	}
	all.Wait()
	if l.Lanes() != owners {
		t.Errorf("%d lanes for %d owners", l.Lanes(), owners)
	}
	want := document.Ledger{Published: owners * notes, Handled: owners * notes, Ordered: true}
	if got := l.Judge(owners*notes, Order{Promised: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// BenchmarkNote is what a handled message costs.
func BenchmarkNote(b *testing.B) {
	l := New(1 << 31)
	f := NewFinder[int](func() *Lane { return l.Lane(nil) })
	owner := new(int)
	id := uint32(0)
	for b.Loop() {
		f.Lane(owner).Note(id)
		id++
	}
}

// The last messages may be left out of the time, and count in everything else.
func TestOnlySomeAreTimed(t *testing.T) {
	t.Parallel()
	l := NewTimed(10, 7)
	n := l.Lane(nil)
	for id := range uint32(7) {
		n.Note(id)
	}
	timed := l.Last()
	if timed.IsZero() {
		t.Fatal("the seventh is not timed")
	}
	for time.Since(timed) == 0 { //nolint:revive // A clock may stand for a moment.
	}
	for id := uint32(7); id < 10; id++ {
		n.Note(id)
	}
	if last := l.Last(); !last.Equal(timed) {
		t.Errorf("the last is timed at %v, and the seventh was at %v", last, timed)
	}
	if got, want := l.Judge(10, Order{}), (document.Ledger{Published: 10, Handled: 10}); got != want || l.Told() != 10 {
		t.Errorf("got %+v and %d told, want %+v", got, l.Told(), want)
	}
}
