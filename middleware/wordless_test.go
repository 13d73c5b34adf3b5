package middleware_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// wordless is an error that a handler returns as a nil pointer.
type wordless struct{ text string }

func (w *wordless) Error() string { return w.text }

// An error that is a nil pointer is logged and recorded like any other: what the handler decided holds.
func TestAnErrorThatIsANilPointer(t *testing.T) {
	t.Parallel()
	reject := func() wherry.Outcome {
		var err *wordless
		return wherry.Reject(err)
	}
	for name, consume := range map[string]func(r *rig, o wherry.ConsumerOption) *wherry.Consumer{
		"one by one": func(r *rig, o wherry.ConsumerOption) *wherry.Consumer {
			return r.consume(func(context.Context, *wherry.Message[string]) wherry.Outcome { return reject() }, o)
		},
		"batch": func(r *rig, o wherry.ConsumerOption) *wherry.Consumer {
			return r.consumeBatch(func(context.Context, *wherry.MessageBatch[string]) wherry.Outcome { return reject() }, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for which, told := range map[string]func(r *rig) []string{
					"log": func(r *rig) []string {
						var p page
						r.run(time.Hour, consume(r, middleware.Log(textLogger(&p, slog.LevelInfo), slog.LevelInfo)))
						return p.lines()
					},
					"audit": func(r *rig) []string {
						r.run(time.Hour, consume(r, middleware.Audit(kept(r.log), middleware.AuditConfig{})))
						return r.log.sorted()
					},
				} {
					r := newRig(t)
					r.publish("a")
					texts := told(r)
					assert.Equal(t, len(texts), 1) // one call: it was no retry
					assert.True(t, strings.Contains(texts[0], "wordless, whose Error panicked"), which+" says "+texts[0])
				}
			})
		})
	}
}
