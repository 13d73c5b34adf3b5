package input_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
)

// Names that no broker could carry.
func TestNames(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ name, says string }{
		"no name":                     {"", "it is empty"},
		"a name that is too long":     {strings.Repeat("a", 201), "201 bytes, want at most 200"},
		"a name that ends a line":     {"a\nb", "is not allowed"},
		"a name with a NUL":           {"a\x00", "is not allowed"},
		"a name that is no UTF-8":     {"a\xff", "is not allowed"},
		"a name that is a path":       {"../a", "dots stand between other characters"},
		"a name with a slash":         {"a/b", "is not allowed"},
		"a name with a wildcard":      {"a.*", "is not allowed"},
		"a name of dots alone":        {"..", "dots stand between other characters"},
		"a name that looks like one":  {"оrders", "is not allowed"}, // its first letter is Cyrillic
		"a name that ends with a dot": {"a.", "dots stand between other characters"},
	} {
		attack(t, "topic with "+what, func(w *world) {
			_, err := wherry.NewPublisher(w.Context(), w.b, wherry.NewTopic(c.name, codec.Text{}))
			w.refuses(err, c.says)
		})
		attack(t, "group with "+what, func(w *world) {
			w.refuses(w.runs(wherry.Consume(wherry.Group(w.b, c.name, fan), ack), time.Hour), "group", c.says)
		})
	}
}

// What a publish refuses it has not sent, and says so.
func TestMessages(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct {
		says string
		opt  wherry.MessageOption
	}{
		"a header without a key":            {"a header's key is empty", wherry.WithHeader("", "v")},
		"a header of the engine's":          {"is reserved", wherry.WithHeader("wherry-control", "1;a=9")},
		"a header of the engine's in caps":  {"is reserved", wherry.WithHeader("WHERRY-ID", "1")},
		"a header key that ends a line":     {"control character", wherry.WithHeader("a\r\nb", "v")},
		"a header key with a NUL":           {"control character", wherry.WithHeader("a\x00", "v")},
		"a header key that is no UTF-8":     {"not valid UTF-8", wherry.WithHeader("\xff", "v")},
		"a header value that is no UTF-8":   {"not valid UTF-8", wherry.WithHeader("a", "\xc3\x28")},
		"a header one byte over the limit":  {"headers of 65537 bytes, limit 65536", wherry.WithHeader("h", big)},
		"an empty id":                       {"id of 0 bytes", wherry.WithID("")},
		"an id one byte over the limit":     {"id of 257 bytes", wherry.WithID(strings.Repeat("i", 257))},
		"the original of nothing":           {"the original is nil", wherry.WithOriginal(nil)},
		"a key that is larger than a queue": {"message of ", wherry.WithKey(make([]byte, 65<<20))},
	} {
		attack(t, name, func(w *world) {
			p := publisher(w, words)
			text := "v"
			err := p.Publish(w.Context(), &text, c.opt)
			w.refuses(err, c.says, "words")
			if !errors.Is(err, wherry.ErrNotSent) {
				w.Errorf("%v does not say that it is not sent", err)
			}
			w.left("words", 0)
			if err := p.Publish(w.Context(), &text); err != nil {
				w.Errorf("the publish after it: %v", err)
			}
			w.left("words", 1)
			if err := p.Close(w.Context()); err != nil {
				w.Error(err)
			}
		})
	}
	attack(t, "a value that is nil", func(w *world) {
		p := publisher(w, words)
		w.refuses(p.Publish(w.Context(), nil), "the value is nil")
		w.refuses(p.PublishAll(w.Context(), slices.Values([]*string{nil, nil})), "2 of 2 failed")
		if err := p.Close(w.Context()); err != nil {
			w.Error(err)
		}
	})
	attack(t, "a body at its limit and one byte past it", func(w *world) {
		p := publisher(w, words, wherry.BodyLimit(8))
		at, past := "12345678", "123456789"
		if err := p.Publish(w.Context(), &at); err != nil {
			w.Error(err)
		}
		w.refuses(p.Publish(w.Context(), &past), "body of 9 bytes, limit 8")
		w.left("words", 1)
		if err := p.Close(w.Context()); err != nil {
			w.Error(err)
		}
	})
	attack(t, "a publish after the close", func(w *world) {
		p := publisher(w, words)
		if err := errors.Join(p.Close(w.Context()), p.Close(w.Context())); err != nil {
			w.Error(err)
		}
		text := "late"
		if err := p.Publish(w.Context(), &text); !errors.Is(err, wherry.ErrClosed) || !errors.Is(err, wherry.ErrNotSent) {
			w.Errorf("got %v, want closed and not sent", err)
		}
	})
	attack(t, "a delay that outlives everybody", func(w *world) {
		p := publisher(w, words)
		text := "later"
		if err := p.Publish(w.Context(), &text, wherry.WithDelay(math.MaxInt64)); err != nil {
			w.Error(err)
		}
		w.left("words", 1)
		if err := p.Close(w.Context()); err != nil {
			w.Error(err)
		}
	})
}

// blank is an error whose text cannot be had.
type blank struct{}

func (*blank) Error() string { panic("no text") }

// wordy is an error of a mebibyte.
type wordy struct{}

func (*wordy) Error() string { return strings.Repeat("round and round ", 1<<16) }

// What a handler returns or does, and what becomes of its message.
func TestHandlers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func() wherry.Outcome
		calls int
	}{
		"an outcome that is nothing":           {func() wherry.Outcome { return wherry.Outcome{} }, 5},
		"an error whose text panics":           {func() wherry.Outcome { return wherry.Reject(&blank{}) }, 1},
		"an error of a mebibyte":               {func() wherry.Outcome { return wherry.Reject(&wordy{}) }, 1},
		"an error that is no UTF-8":            {func() wherry.Outcome { return wherry.Reject(errors.New("\xff\x00")) }, 1},
		"a nil error that rejects":             {func() wherry.Outcome { return wherry.Reject(nil) }, 1},
		"a nil error that is permanent":        {func() wherry.Outcome { return wherry.Reject(wherry.Permanent(nil)) }, 1},
		"a panic of nil":                       {func() wherry.Outcome { panic(nil) }, 5}, //nolint:govet // It is the try.
		"a panic with an error without a text": {func() wherry.Outcome { panic(&blank{}) }, 5},
		"a defer past every day":               {func() wherry.Outcome { return wherry.Defer(math.MaxInt64) }, 1},
		"a retry before now":                   {func() wherry.Outcome { return wherry.RetryAfter(math.MinInt64, nil) }, 5},
	} {
		attack(t, name, func(w *world) {
			w.publish("good", "bad", "good")
			var n tally
			w.mustRun(wherry.Consume(wherry.Queue(w.b, words), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
				n.add(m.Value)
				if m.Value == "good" {
					return wherry.Ack()
				}
				return c.do()
			}), time.Hour)
			if n.of("good") != 2 || n.of("bad") != c.calls {
				w.Errorf("%d calls for good and %d for bad, want 2 and %d", n.of("good"), n.of("bad"), c.calls)
			}
			w.left("words", 0)
			w.left("words.dlq", 1)
		})
	}
}
