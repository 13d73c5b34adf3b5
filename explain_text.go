package wherry

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// String is the explanation for people, several lines for each consumer.
func (e Explanation) String() string {
	var b strings.Builder
	for i := range e.Consumers {
		if i > 0 {
			b.WriteByte('\n')
		}
		e.Consumers[i].write(&b)
	}
	if len(e.Others) > 0 {
		if len(e.Consumers) > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "not explained: %s\n", strings.Join(e.Others, ", "))
	}
	return b.String()
}

// WriteTo writes the explanation for people to w, in one call.
func (e Explanation) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, e.String())
	return int64(n), err
}

// write writes a consumer. Each line is a sentence or a few words; what proves it stands in brackets.
func (c *ConsumerExplanation) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n", c.Name)
	section := func(title string) { fmt.Fprintf(b, "  %s\n", title) }
	line := func(format string, args ...any) { fmt.Fprintf(b, "    "+format+"\n", args...) }

	section("source")
	line("%s", c.source())
	for _, m := range c.Mistakes {
		line("DOES NOT START: %s", m)
	}
	section("delivery: " + string(c.Delivery.Level))
	for _, why := range c.Delivery.Because {
		line("%s", why)
	}
	section("means, " + string(c.Known))
	for _, m := range c.Means {
		line("%s: %s", m.What, m.How)
		writeStatements(b, m.Says)
	}
	section("retries: " + c.Retries.title())
	for _, s := range c.Retries.Steps {
		line("%s", s.text())
	}
	switch n := len(c.Retries.Steps); {
	case n > 0 && c.Retries.MaxAttempts == 0:
		line("and the last again and again")
	case n > 0:
		line("in all %s", between(c.Retries.Shortest, c.Retries.Longest))
	}
	if c.Retries.ByError {
		line("for some errors another policy, which its function chooses")
	}
	section("limits")
	c.Limits.write(line)
	section("a crash")
	for _, crash := range c.Crashes {
		line("%s", crash.At)
		writeStatements(b, crash.Then)
	}
}

func writeStatements(b *strings.Builder, says []Statement) {
	for _, s := range says {
		b.WriteString("      " + s.Text)
		if s.Case != "" {
			b.WriteString(" [" + s.Case + "]")
		}
		b.WriteByte('\n')
	}
}

func (c *ConsumerExplanation) source() string {
	shape := "single messages"
	if c.Batches {
		shape = "batches"
	}
	from := fmt.Sprintf("%s %s", c.Kind, c.Topic)
	if c.Group != "" {
		from = fmt.Sprintf("group %s of topic %s", c.Group, c.Topic)
	}
	if c.Kind == KindGroupSequence {
		shape = "in order by key, " + shape
	}
	return fmt.Sprintf("%s on %s, %s", from, c.Broker, shape)
}

func (p *RetryPlan) title() string {
	then := "dropped"
	if p.DeadLetters != "" {
		then = "to " + p.DeadLetters
	}
	if p.MaxAttempts == 0 {
		return "until it succeeds, rejected ones " + then
	}
	if p.MaxAttempts == 1 {
		return "none, after 1 failed call " + then
	}
	return fmt.Sprintf("%d attempts, then %s", p.MaxAttempts, then)
}

func (s *RetryStep) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "after failure %d", s.First)
	if s.Last > s.First {
		fmt.Fprintf(&b, " to %d, each", s.Last)
	}
	b.WriteString(": " + between(s.Shortest, s.Longest))
	if s.Hops > 1 {
		fmt.Fprintf(&b, ", held up to %d times", s.Hops)
	}
	if len(s.Via) > 0 {
		b.WriteString(", by " + strings.Join(s.Via, ", "))
	}
	return b.String()
}

// between names two times, or the first where the second, which is not known, is 0.
func between(a, b time.Duration) string {
	a, b = a.Round(time.Millisecond), b.Round(time.Millisecond)
	switch {
	case a == b:
		return a.String()
	case b == 0:
		return "at least " + a.String()
	}
	return fmt.Sprintf("%v to %v", a, b)
}

func (l *Limits) write(line func(format string, args ...any)) {
	workers := strconv.Itoa(l.Workers)
	if l.MaxWorkers > l.Workers {
		workers = fmt.Sprintf("%d to %d", l.Workers, l.MaxWorkers)
	}
	line("workers: %s; of each the concurrency is %d and the prefetch %d", workers, l.Concurrency, l.Prefetch)
	if l.BatchSize > 0 {
		line("batches of %d messages, %d bytes or %v from the first", l.BatchSize, l.BatchBytes, l.BatchAge)
	}
	if l.HandlerTimeout > 0 {
		line("handler timeout %v", l.HandlerTimeout)
	} else {
		line("no handler timeout")
	}
	line("drain time %v, grace %v, stalled after %v", l.DrainTime, l.GraceTime, l.StallAfter)
	if l.MaxDelivered > 0 {
		line("%d deliveries without an outcome", l.MaxDelivered)
	}
	line("body %d bytes, headers %d bytes", l.BodyLimit, l.HeaderLimit)
}
