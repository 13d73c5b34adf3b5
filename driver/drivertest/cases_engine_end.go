package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
)

// How messages end: in the dead letters, and back from there.
func engineEndCases() []Case {
	needs := []Ability{Queue} // dead letters are queues
	return []Case{
		{
			Name: "engine/dead-letter",
			Sentence: "After exactly MaxAttempts failed calls a message is in the dead letters, byte for byte, with its id, key, " +
				"headers, counts, and first and last error.",
			Needs: needs, kinds: shared, Run: deadLettered,
		},
		{
			Name:     "engine/reject",
			Sentence: "A rejected message is in the dead letters after one call, with its reason.",
			Needs:    needs, kinds: shared, Run: rejected,
		},
		{
			Name:     "engine/undecodable",
			Sentence: "A body that cannot be decoded is in the dead letters as it was, without a call, and holds nothing up.",
			Needs:    needs, kinds: shared, Run: undecodable,
		},
		{
			Name:     "engine/oversized",
			Sentence: "A message over the consumer's limit is in the dead letters as it was, without a call, and holds nothing up.",
			Needs:    needs, kinds: shared, Run: oversized,
		},
		{
			Name:     "engine/dead-letter-at-limit",
			Sentence: "What could be published can be retried and dead-lettered, byte for byte, at the largest size and with an error text of 1 MiB.",
			Needs:    needs, kinds: shared, Run: deadLetterAtLimit,
		},
		{
			Name:     "engine/redrive",
			Sentence: "A redrive brings dead letters back where they failed, to their group alone, as they were and at attempt 1.",
			Needs:    needs, kinds: shared, Run: redriven,
		},
	}
}

// letter receives the one dead letter and checks what it says.
func (a *app) letter(reason wherry.Reason, attempts int) *driver.Delivery {
	t := a.t
	r := a.deadLetters().receiver()
	d := r.one()
	f := d.Control.Failure
	if f == nil {
		t.Fatalf("dead letter %s has no failure", d.ID)
	}
	if f.Reason != string(reason) || f.Attempts != attempts || f.Topic != a.topic.Name() || f.Group != a.l.group {
		t.Errorf("dead letter %s: reason %q after %d failed calls of topic %q group %q, want %q after %d of %q %q",
			d.ID, f.Reason, f.Attempts, f.Topic, f.Group, reason, attempts, a.topic.Name(), a.l.group)
	}
	if f.FirstAt == 0 || f.LastAt < f.FirstAt {
		t.Errorf("dead letter %s: first failure at %d, last at %d", d.ID, f.FirstAt, f.LastAt)
	}
	if reason == wherry.ReasonExhausted && d.Control.Published == 0 {
		t.Errorf("dead letter %s does not say when it was published", d.ID)
	}
	r.none()
	return d
}

func deadLettered(t *T) {
	a := t.app(t.soonRetry(3))
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		return wherry.Retry(fmt.Errorf("failure %d", a.calls.add(m)))
	})
	value := "body \u4e16\u754c\x00\r\n"
	err := a.pub.Publish(t.soon(), &value, wherry.WithID("the-id"), wherry.WithKey([]byte("the\x00key")),
		wherry.WithHeader("b", "2"), wherry.WithHeader("a", ""), wherry.WithHeader("b", "\u00fc"))
	if err != nil {
		t.Fatalf("Publish: %v", err)
	}
	a.exactly(3)
	if got := a.calls.attempts("the-id"); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("attempts %v, want 1 2 3", got)
	}
	d := a.letter(wherry.ReasonExhausted, 3)
	want := driver.Record{
		ID: driver.ID{Text: "the-id"}, Key: []byte("the\x00key"), Body: []byte(value), ContentType: d.ContentType,
		Headers: []driver.Header{{Key: "b", Value: "2"}, {Key: "a"}, {Key: "b", Value: "\u00fc"}}, Control: d.Control,
	}
	if wrong := difference(&want, d); wrong != "" {
		t.Errorf("the dead letter has %s", wrong)
	}
	if f := d.Control.Failure; f.First != "failure 1" || f.Last != "failure 3" {
		t.Errorf("the dead letter's first error is %q and its last %q", f.First, f.Last)
	}
	s.stop()
	a.l.empty()
}

func rejected(t *T) {
	a := t.app()
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		return wherry.Reject(errors.New("never"))
	})
	a.publish("one")
	a.exactly(1)
	if f := a.letter(wherry.ReasonRejected, 1).Control.Failure; f.Last != "never" {
		t.Errorf("the dead letter's error is %q", f.Last)
	}
	s.stop()
	a.l.empty()
}

func undecodable(t *T) {
	a := t.app()
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		return wherry.Ack()
	})
	rec := t.record()
	rec.Body = []byte("no text: \xff\xfe\x00")
	a.l.send(rec)
	a.publish(texts(3)...)
	a.exactly(3)
	d := a.letter(wherry.ReasonUndecodable, 0)
	rec.Control = d.Control
	if wrong := difference(&rec, d); wrong != "" {
		t.Errorf("the dead letter has %s", wrong)
	}
	s.stop()
	a.l.empty()
}

func oversized(t *T) {
	a := t.app()
	const limit = 1000
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		return wherry.Ack()
	}, wherry.BodyLimit(limit))
	rec := t.record()
	rec.Body = []byte(strings.Repeat("x", limit+1))
	a.l.send(rec)
	a.publish(strings.Repeat("y", 200))
	a.exactly(1)
	d := a.letter(wherry.ReasonTooLarge, 0)
	rec.Control = d.Control
	if wrong := difference(&rec, d); wrong != "" {
		t.Errorf("the dead letter has %s", wrong)
	}
	s.stop()
	a.l.empty()
}

// largest returns the largest text that the publisher takes, of at most the given size. It publishes on the way there.
func (a *app) largest(limit int, opts ...wherry.MessageOption) string {
	t := a.t
	body := strings.Repeat("0123456789abcde\n", limit/16+1)
	const window = 64 << 10                        // what the engine keeps free below a broker's limit, and more
	low, high := max(limit-window, 0), len(body)+1 // low is accepted, high is not
	for high-low > 1 {
		mid := (low + high) / 2
		try := body[:mid]
		err := a.pub.Publish(t.soon(), &try, opts...)
		switch {
		case err == nil:
			low = mid
		case errors.Is(err, wherry.ErrTooLarge):
			high = mid
		default:
			t.Fatalf("Publish of %d bytes: %v", mid, err)
		}
	}
	return body[:low]
}

func deadLetterAtLimit(t *T) {
	// Where the broker's limit is large or there is none, the topic's own is the limit.
	limit := 1 << 20
	if most := t.line().sender().limits.MaxRecord; most > 0 && most <= t.h.MaxRecord {
		limit = most
	}
	// What is tried on the way to the largest goes to a topic of its own.
	trial := t.app(wherry.BodyLimit(limit))
	header := wherry.WithHeader("large", strings.Repeat("h", 4<<10))
	draining := trial.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		trial.calls.add(m)
		return wherry.Ack()
	})
	value := trial.largest(limit, header)
	trial.reach(1)
	draining.stop()
	a := t.app(t.soonRetry(2), wherry.BodyLimit(limit))
	if err := a.pub.Publish(t.soon(), &value, wherry.WithID("largest"), header); err != nil {
		t.Fatalf("Publish of %d bytes: %v", len(value), err)
	}
	long := strings.Repeat("\u00e9 long error; ", 1<<20/14)
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		return wherry.Retry(errors.New(long))
	})
	a.exactly(2)
	d := a.letter(wherry.ReasonExhausted, 2)
	if string(d.Body) != value {
		t.Errorf("the body of %d bytes arrived as other %d bytes", len(value), len(d.Body))
	}
	if len(d.Headers) != 1 || len(d.Headers[0].Value) != 4<<10 {
		t.Errorf("the header of 4 KiB did not arrive")
	}
	if n := len(d.Control.Failure.Last); n == 0 || n > 2<<10 {
		t.Errorf("an error text of 1 MiB travels with %d bytes, want 1 to 2,048", n)
	}
	s.stop()
}

func redriven(t *T) {
	var a *app
	var other *line
	if t.c.kind.grouped {
		one, two := t.pair()
		a, other = t.appOn(one, t.soonRetry(1)), two
	} else {
		a = t.app(t.soonRetry(1))
	}
	healthy := false
	h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		if !healthy {
			return wherry.Retry(errors.New("down"))
		}
		return wherry.Ack()
	}
	s := a.handle(h)
	all := texts(3)
	a.publish(all...)
	a.exactly(len(all))
	if other != nil {
		r := other.receiver()
		r.done(r.take(len(all))...)
		r.close()
	}
	s.stop()
	healthy = true

	var opts []wherry.RedriveOption
	if other != nil {
		opts = append(opts, wherry.RedriveGroup(a.l.group))
	}
	q, ok := a.l.b.(driver.Queuer)
	if !ok {
		t.Fatalf("%T is no Queuer, though its dead letters are", a.l.b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait+10*time.Second)
	defer cancel()
	done, err := wherry.Redrive(ctx, q, a.topic, opts...)
	if err != nil || done.Moved != len(all) {
		t.Errorf("Redrive: %+v, %v; want %d moved", done, err, len(all))
	}
	s = a.handle(h)
	a.exactly(2 * len(all))
	s.stop()
	for _, id := range all {
		if got := a.calls.attempts(id); !slices.Equal(got, []int{1, 1}) {
			t.Errorf("attempts of %s before and after the redrive %v, want 1 1", id, got)
		}
	}
	a.deadLetters().empty()
	if other != nil {
		other.empty()
	}
}
