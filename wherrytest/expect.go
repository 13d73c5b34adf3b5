package wherrytest

import (
	"fmt"
	"slices"
	"strings"
)

// Expect fails the test unless the counts are exactly these, and then tells what became of each message. Call it after
// [Test.Quiesce].
func (p *TopicProbe[T]) Expect(want Counts) {
	p.test.tb.Helper()
	p.expect(func(got Counts) []string {
		var wrong []string
		compare := func(what string, got, want int) {
			if got != want {
				wrong = append(wrong, fmt.Sprintf("%s %d, want %d", what, got, want))
			}
		}
		compare("published", got.Published, want.Published)
		compare("handled", got.Handled, want.Handled)
		compare("retried", got.Retried, want.Retried)
		compare("deferred", got.Deferred, want.Deferred)
		compare("dead", got.Dead, want.Dead)
		compare("dropped", got.Dropped, want.Dropped)
		return wrong
	})
}

// ExpectPublished fails the test unless n messages were published, and then tells what became of each.
func (p *TopicProbe[T]) ExpectPublished(n int) {
	p.test.tb.Helper()
	p.expectOne("published", n, func(c Counts) int { return c.Published })
}

// ExpectHandled fails the test unless n messages were handled, and then tells what became of each.
func (p *TopicProbe[T]) ExpectHandled(n int) {
	p.test.tb.Helper()
	p.expectOne("handled", n, func(c Counts) int { return c.Handled })
}

// ExpectRetried fails the test unless n attempts failed and were followed by another, and then tells what became of each
// message.
func (p *TopicProbe[T]) ExpectRetried(n int) {
	p.test.tb.Helper()
	p.expectOne("retried", n, func(c Counts) int { return c.Retried })
}

// ExpectDead fails the test unless n messages went to the dead letters, and then tells what became of each.
func (p *TopicProbe[T]) ExpectDead(n int) {
	p.test.tb.Helper()
	p.expectOne("dead", n, func(c Counts) int { return c.Dead })
}

func (p *TopicProbe[T]) expectOne(what string, want int, of func(Counts) int) {
	p.test.tb.Helper()
	p.expect(func(got Counts) []string {
		if n := of(got); n != want {
			return []string{fmt.Sprintf("%s %d, want %d", what, n, want)}
		}
		return nil
	})
}

// ExpectInOrder fails the test unless messages with a key were handled, and those of each key in the order in which they were
// published: at every queue, group and reader by itself. It is for sequences. Messages that were published beside each other are in
// the order in which the broker confirmed them. What went to the dead letters is passed over, and counts when it was redriven and
// handled.
func (p *TopicProbe[T]) ExpectInOrder() {
	p.test.tb.Helper()
	l := p.test.ledger
	l.mu.Lock()
	n, wrong := l.disorderLocked(p.place())
	l.mu.Unlock()
	if n == 0 {
		wrong = append(wrong, "no message with a key was handled")
	}
	p.report(wrong)
}

// disorderLocked is how many messages with a key were handled at a place, and which of them were not in order.
func (l *ledger) disorderLocked(p place) (n int, wrong []string) {
	keys, order := make(map[string]string), make(map[string]int)
	for i := range l.published {
		o := &l.published[i]
		if _, known := order[o.id]; !known && o.at.topic == p.topic && len(o.rec.Key) > 0 {
			keys[o.id], order[o.id] = string(o.rec.Key), i
		}
	}
	type line struct {
		at  place
		key string
	}
	last := make(map[line]string)
	for _, e := range l.handled {
		if _, known := order[e.id]; !known || !(&step{at: e.at}).concerns(p) {
			continue
		}
		n++
		at := line{e.at, keys[e.id]}
		if before, ok := last[at]; ok && order[before] > order[e.id] {
			wrong = append(wrong, fmt.Sprintf("key %q in %v: %s was handled after %s, and published before it", at.key, e.at, e.id, before))
		}
		last[at] = e.id
	}
	return n, wrong
}

// expect reports what check finds wrong with the counts.
func (p *TopicProbe[T]) expect(check func(Counts) []string) {
	p.test.tb.Helper()
	p.report(check(p.Counts()))
}

// report fails the test with what is wrong, and tells what became of each message.
func (p *TopicProbe[T]) report(wrong []string) {
	t := p.test
	t.tb.Helper()
	if len(wrong) == 0 {
		return
	}
	at := p.place()
	l := t.ledger
	l.mu.Lock()
	told, alone := l.stories.tell(at), l.unconsumedLocked(at)
	l.mu.Unlock()
	if told == "" {
		told = "\n  nothing was published"
	}
	text := fmt.Sprintf("wherrytest: %v: %s%s", at, strings.Join(wrong, "; "), told)
	if left := t.leftText(); left != "" {
		text += "\n  still under way, which Quiesce waits for:" + strings.ReplaceAll(left, "\n", "\n  ")
	}
	if len(alone) > 0 && slices.ContainsFunc(wrong, func(s string) bool { return !strings.HasPrefix(s, "published ") }) {
		text += "\n  nobody consumes " + strings.Join(alone, " and ") + " on the test's broker: give its consumer that broker, and the consumer to Run"
	}
	t.tb.Error(text)
}

// unconsumedLocked is where messages of a topic went that no consumer was ever opened for.
func (l *ledger) unconsumedLocked(p place) []string {
	var out []string
	for at := range l.pending {
		if len(l.pending[at]) > 0 && !l.consumed[at] && (&step{at: at}).concerns(p) {
			out = append(out, at.String())
		}
	}
	slices.Sort(out)
	return out
}
