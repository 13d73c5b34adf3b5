package wherrytest

import (
	"fmt"
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

// expect reports what check finds wrong with the counts.
func (p *TopicProbe[T]) expect(check func(Counts) []string) {
	t := p.test
	t.tb.Helper()
	at := p.place()
	l := t.ledger
	l.mu.Lock()
	got := l.countLocked(at)
	told := l.stories.tell(at)
	l.mu.Unlock()
	wrong := check(got)
	if len(wrong) == 0 {
		return
	}
	if told == "" {
		told = "\n  nothing was published"
	}
	text := fmt.Sprintf("wherrytest: %v: %s%s", at, strings.Join(wrong, "; "), told)
	if left := t.leftText(); left != "" {
		text += "\n  still under way:" + strings.ReplaceAll(left, "\n", "\n  ")
	}
	t.tb.Error(text)
}
