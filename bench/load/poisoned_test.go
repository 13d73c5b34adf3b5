package load

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// poisonedStage is a stage of a sequence of which one key in ten fails.
func poisonedStage(t *testing.T, messages int) *stage {
	t.Helper()
	k := with(spec(document.Drain, matrix.Sequence, 2), func(s *matrix.Spec) { s.Keys, s.Ordered, s.Poisoned = 10, true, true })
	s, err := newStage(Order{Backend: "mem", Spec: k, Messages: messages}, openBackend)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close(context.WithoutCancel(t.Context())) })
	return s
}

// TestPoisonedCountsTheOtherKeys has a corpus whose last round of keys is not a full one: the window has the other keys'
// messages alone, and the ledger all of them.
func TestPoisonedCountsTheOtherKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages, ill = 1_007, 100
		s := poisonedStage(t, messages)
		b := views(s.spec.Payload).with(s.spec.Keys)
		begun := time.Now()
		for window := range 2 {
			r := poisonedOnce(t.Context(), s, &b)
			if r.Run == nil {
				t.Fatalf("window %d: %+v", window, r.None)
			}
			if want := int64(messages - ill - s.spec.Consumers); r.Run.Messages != want {
				t.Errorf("window %d has %d messages, want %d", window, r.Run.Messages, want)
			}
			if want := (document.Ledger{Published: messages, Handled: messages, Ordered: true}); r.Run.Ledger != want {
				t.Errorf("window %d: got %+v, want %+v", window, r.Run.Ledger, want)
			}
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("two windows took %v: the other keys, or the end, waited for the poisoned one", took)
		}
	})
}

// TestPoisonNumbers holds that the others are numbered without a gap.
func TestPoisonNumbers(t *testing.T) {
	t.Parallel()
	p := poison{keys: 3}
	var ill, numbers []uint32
	for id := range uint32(8) {
		if p.has(id) {
			ill = append(ill, id)
		} else {
			numbers = append(numbers, p.number(id))
		}
	}
	if !slices.Equal(ill, []uint32{2, 5}) || !slices.Equal(numbers, []uint32{0, 1, 2, 3, 4, 5}) || p.ill(8) != 2 {
		t.Errorf("of 8 messages %v have the key, the others are %v", ill, numbers)
	}
}

// TestBlocked says why a window is void whose other keys were all handled.
func TestBlocked(t *testing.T) {
	t.Parallel()
	s := poisonedStage(t, 20)
	b := views(s.spec.Payload).with(s.spec.Keys)
	if err := fill(t.Context(), s, &b, 0, 3); err != nil {
		t.Fatal(err)
	}
	l := document.Ledger{Published: 18, Handled: 18, Ordered: true}
	lost := document.Ledger{Published: 18, Handled: 17, Lost: 1, Ordered: true}
	for _, c := range []struct {
		l            document.Ledger
		ill, refused int64
		want         string
	}{
		{l, 3, 1, ""},
		{l, 3, 0, "no message of the poisoned key came to its handler"},
		{l, 2, 1, "3 messages are left at the broker, and 2 have the poisoned key"},
		{lost, 3, 1, "1 were lost"},
	} {
		none := s.blocked(t.Context(), c.l, c.ill, c.refused, nil)
		if (none == nil) != (c.want == "") || none != nil && !strings.Contains(none.Text, c.want) {
			t.Errorf("%+v: got %+v, want %q", c, none, c.want)
		}
	}
}

// TestMended sees what comes out of order when the key is mended, and what is of another key.
func TestMended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := poisonedStage(t, 30)
		b := views(s.spec.Payload).with(s.spec.Keys)
		for _, id := range []int{9, 29, 19, 5} {
			if err := fill(t.Context(), s, &b, id, id+1); err != nil {
				t.Fatal(err)
			}
		}
		l, err := mended(t.Context(), s, &b, poison{keys: 10}, 3)
		if err != nil || l.Handled != 3 || l.Reordered != 1 || l.Duplicated != 1 || l.Lost != 0 {
			t.Errorf("got %+v, %v: want one out of order, and one that should not be there", l, err)
		}
	})
}

// TestACallIsOfABatch holds that work is done once for a batch, and once for each single message.
func TestACallIsOfABatch(t *testing.T) {
	t.Parallel()
	for flow, want := range map[string]int{matrix.Batch: 4, matrix.Parallel: 2_000} {
		t.Run(flow, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := kind{name: flow, spec: spec(document.Drain, flow, 1)}
				calls := 0
				s, err := newStage(Order{Backend: "mem", Spec: k.spec, Messages: 2_000}, openBackend)
				if err != nil {
					t.Fatal(err)
				}
				s.work = func(context.Context, uint32) { calls++ }
				r := measureOn(t.Context(), s)
				if err := s.close(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
				if r.Run == nil || calls != want {
					t.Errorf("%d calls, want %d: %+v", calls, want, r.None)
				}
			})
		})
	}
}
