package ledger

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
)

// sums are Totals without the groups.
func sums(t Totals) Totals {
	t.Groups = nil
	return t
}

func TestTotals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		happens func(l *Ledger, id string)
		want    Totals
	}{
		"published and not seen again": {
			func(l *Ledger, id string) { l.Published(id) },
			Totals{Published: 1, Open: 1},
		},
		"lost by one of two groups": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Handled(id, "a")
			},
			Totals{Published: 1, Open: 1},
		},
		"given up by one group and lost by the other": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Dead(id, "b")
			},
			Totals{Published: 1, Open: 1},
		},
		"handled by both": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Handled(id, "a")
				l.Handled(id, "b")
			},
			Totals{Published: 1, Handled: 1},
		},
		"handled before the publish returned": {
			func(l *Ledger, id string) {
				l.Handled(id, "b")
				l.Handled(id, "a")
				l.Published(id)
			},
			Totals{Published: 1, Handled: 1},
		},
		"handled and given up": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Handled(id, "a")
				l.Dead(id, "b")
			},
			Totals{Published: 1, Dead: 1},
		},
		"retried twice counts once": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Retried(id, "a")
				l.Retried(id, "a")
				l.Retried(id, "b")
				l.Handled(id, "a")
				l.Handled(id, "b")
			},
			Totals{Published: 1, Handled: 1, Retried: 1},
		},
		"handled twice by one group": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Handled(id, "a")
				l.Handled(id, "a")
				l.Handled(id, "b")
			},
			Totals{Published: 1, Handled: 1, Duplicated: 1},
		},
		"twice in the dead letters": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Handled(id, "a")
				l.Dead(id, "b")
				l.Dead(id, "b")
			},
			Totals{Published: 1, Dead: 1, Duplicated: 1},
		},
		"handled and given up by the same group": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Handled(id, "a")
				l.Handled(id, "b")
				l.Dead(id, "b")
			},
			Totals{Published: 1, Dead: 1, Duplicated: 1},
		},
		"a repetition does not make up for a loss": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Handled(id, "a")
				l.Handled(id, "a")
			},
			Totals{Published: 1, Open: 1, Duplicated: 1},
		},
		"withdrawn": {
			func(l *Ledger, id string) { l.Withdrawn(id) },
			Totals{},
		},
		"withdrawn and seen": {
			func(l *Ledger, id string) {
				l.Withdrawn(id)
				l.Handled(id, "a")
			},
			Totals{Published: 1, Open: 1},
		},
		"nobody published it": {
			func(l *Ledger, _ string) {
				l.Handled("order-2", "a")
				l.Handled("order-0", "a")
				l.Handled("order-x", "a")
				l.Published("another-1")
				l.Dead("", "a")
			},
			Totals{Unknown: 5},
		},
		"a group that is none": {
			func(l *Ledger, id string) {
				l.Published(id)
				l.Handled(id, "a")
				l.Handled(id, "b")
				l.Handled(id, "c")
			},
			Totals{Published: 1, Handled: 1, Unknown: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New("a", "b")
			test.happens(l, l.Next())
			if got := sums(l.Totals()); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestGroupTotals(t *testing.T) {
	t.Parallel()
	l := New("a", "b")
	for i := range 4 {
		id := l.Next()
		l.Published(id)
		l.Handled(id, "a")
		if i > 0 {
			l.Dead(id, "b")
		}
		if i > 1 {
			l.Retried(id, "b")
			l.Dead(id, "b")
		}
	}
	want := []GroupTotals{{Group: "a", Handled: 4}, {Group: "b", Dead: 3, Retried: 2, Duplicated: 2}}
	if got := l.Totals().Groups; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	l := New("a", "b")
	for i := range 5 {
		id := l.Next()
		l.Published(id)
		l.Handled(id, "a")
		switch i {
		case 1, 3:
			continue
		case 4:
			l.Handled(id, "b")
		}
		l.Handled(id, "b")
	}
	l.Withdrawn(l.Next())
	if got, want := fmt.Sprint(l.Open(9)), "[{order-2 [b]} {order-4 [b]}]"; got != want {
		t.Errorf("open are %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(l.Open(1)), "[{order-2 [b]}]"; got != want {
		t.Errorf("the first that is open is %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(l.Duplicated(9)), "[{order-5 [b]}]"; got != want {
		t.Errorf("duplicated are %s, want %s", got, want)
	}
}

// TestLoss loses and repeats entries at random and expects the ledger to find exactly those.
func TestLoss(t *testing.T) {
	t.Parallel()
	const messages = 10_000
	groups := []string{"a", "b", "c"}
	l := New(groups...)
	random := rand.New(rand.NewPCG(1, 2))
	lost, duplicated := map[string]bool{}, map[string]bool{}
	var todo []func()
	for range messages {
		id := l.Next()
		l.Published(id)
		for _, g := range groups {
			once := func() { l.Handled(id, g) }
			switch random.IntN(1000) {
			case 0:
				lost[id] = true
				continue
			case 1:
				duplicated[id] = true
				todo = append(todo, once)
			}
			todo = append(todo, once)
		}
	}
	random.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := part; i < len(todo); i += 4 {
				todo[i]()
			}
		})
	}
	wg.Wait()
	got := sums(l.Totals())
	want := Totals{Published: messages, Handled: messages - len(lost), Open: len(lost), Duplicated: len(duplicated)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if len(lost) == 0 || len(duplicated) == 0 {
		t.Error("nothing was lost or nothing repeated, so nothing was tested")
	}
	for _, a := range l.Open(messages) {
		if !lost[a.ID] {
			t.Errorf("%s is said to be open", a.ID)
		}
	}
}
