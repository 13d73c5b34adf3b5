package wherry_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
)

// A consumer that would get its own dead letters again counts each anew, for ever. It is refused before anything is opened.
func TestDeadLettersThatComeBack(t *testing.T) {
	t.Parallel()
	fine := func(context.Context, string) error { return nil }
	topic := func(name string, opts ...wherry.TopicOption) wherry.Topic[string] {
		return wherry.NewTopic(name, codec.Text{}, opts...)
	}
	b := newMem(t)
	consume := func(t wherry.Topic[string], opts ...wherry.ConsumeOption) *wherry.Consumer {
		return wherry.Consume(wherry.Queue(b, t), wherry.Func(fine), opts...)
	}
	for name, c := range map[string]struct {
		run  []wherry.Runner
		want []string
	}{
		"its topic's option": {
			[]wherry.Runner{consume(topic("a", wherry.DeadLetterTo("a")))},
			[]string{"consume a:", ", where they came from", "NoDeadLetters"},
		},
		"its own option": {
			[]wherry.Runner{consume(topic("b"), wherry.DeadLetterTo("b"))},
			[]string{"consume b:", ", where they came from"},
		},
		"another consumer": {
			[]wherry.Runner{consume(topic("c"), wherry.DeadLetterTo("d")), consume(topic("d"), wherry.DeadLetterTo("c"))},
			[]string{"consume d:", "those of d go to c go back to d"},
		},
		"two others": {
			[]wherry.Runner{
				consume(topic("e")), consume(topic("e.dlq"), wherry.DeadLetterTo("f")), consume(topic("f"), wherry.DeadLetterTo("e")),
			},
			[]string{"consume f:", "those of f go to e go to e.dlq go back to f"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := wherry.Run(t.Context(), c.run...)
			if err == nil {
				t.Fatal("it runs")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
	var pulled error
	for _, err := range wherry.Pull(t.Context(), wherry.Queue(b, topic("g", wherry.DeadLetterTo("g")))) {
		pulled = err
	}
	if pulled == nil || !strings.Contains(pulled.Error(), ", where they came from") {
		t.Errorf("Pull: %v", pulled)
	}
}

// Dead letters of different consumers may meet, and go on to dead letters of their own.
func TestDeadLettersThatMeet(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	fine := wherry.Func(func(context.Context, string) error { return nil })
	var rs []wherry.Runner
	for _, name := range []string{"a", "b", "common", "common.dlq"} {
		topic := wherry.NewTopic(name, codec.Text{})
		var opts []wherry.ConsumeOption
		if name == "a" || name == "b" {
			opts = append(opts, wherry.DeadLetterTo("common"))
		}
		rs = append(rs, wherry.Consume(wherry.Queue(b, topic), fine, opts...))
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := wherry.Run(ctx, rs...); err != nil {
		t.Error(err)
	}
}

// Of several mistakes each says where it was made.
func TestEachMistakeSaysWhere(t *testing.T) {
	t.Parallel()
	fine := wherry.Func(func(context.Context, string) error { return nil })
	b := newMem(t)
	topic := wherry.NewTopic("orders", codec.Text{})
	err := wherry.Run(t.Context(), wherry.Consume(wherry.Queue(b, topic), fine,
		wherry.Concurrency(0), wherry.Prefetch(-1), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: -1, Factor: 0.5})))
	if err == nil {
		t.Fatal("it runs")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 4 {
		t.Errorf("%d lines, want 4: %q", len(lines), lines)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "wherry: consume orders: ") {
			t.Errorf("%q does not say where", line)
		}
	}
	if one, ok := errors.AsType[*wherry.Error](err); !ok || one.Topic != "orders" {
		t.Errorf("no Error is in %v", err)
	}
}
