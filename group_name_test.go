package wherry_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
)

// A group that the topic does not name beside others may be misspelt: that is no error, and is said where people look.
func TestGroupThatIsNotNamedIsNoted(t *testing.T) {
	t.Parallel()
	const note = "Fanout does not name group biling, it names billing, audit: " +
		"the group exists since its first consumer, and sees nothing from before."
	for name, c := range map[string]struct {
		group string
		named []string
		want  string
	}{
		"misspelt":       {"biling", []string{"billing", "audit"}, note},
		"named":          {"audit", []string{"billing", "audit"}, ""},
		"none are named": {"biling", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				events := wherry.NewKeyedTopic("events", codec.Text{}, func(dst []byte, v *string) []byte { return append(dst, *v...) },
					wherry.Fanout(c.named...))
				var log strings.Builder
				logger := slog.New(slog.NewTextHandler(&log, nil))
				var notes calls
				noted := wherry.OnEvent(func(e wherry.Event) {
					if s, ok := e.(*wherry.Started); ok {
						notes.add("%s", s.Note)
					}
				})
				ack := func(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }
				group := wherry.Consume(wherry.Group(b, c.group, events), ack, noted, wherry.LogTo(logger))
				sequence := wherry.Consume(wherry.GroupSequence(b, c.group+"-2", events), ack)
				r := start(t, group)
				synctest.Wait()
				r.mustEnd()
				assert.Equal(t, notes.all(), []string{c.want})
				assert.Equal(t, strings.Contains(log.String(), c.want), true)
				assert.Equal(t, strings.Contains(wherry.Explain(group).String(), "Fanout does not name group "+c.group+","), c.want != "")
				assert.Equal(t, strings.Contains(wherry.Explain(sequence).String(), "Fanout does not name group "), len(c.named) > 0)
			})
		})
	}
}
