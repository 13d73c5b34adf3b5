package wherry_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// Two consumers of one name in one Run are told, however they come to be in it; two names, and two Runs, are not.
func TestNamesakesAreNoted(t *testing.T) {
	t.Parallel()
	const note = `Another consumer of this Run is named "orders" too: events and health do not tell them apart. Name gives one another name.`
	for name, c := range map[string]struct {
		second []wherry.ConsumeOption
		run    func(a, b *wherry.Consumer) []wherry.Runner
		noted  int
	}{
		"themselves": {nil, func(a, b *wherry.Consumer) []wherry.Runner { return []wherry.Runner{a, b} }, 2},
		"joined":     {nil, func(a, b *wherry.Consumer) []wherry.Runner { return []wherry.Runner{wherry.Join(a), wherry.Join(b)} }, 2},
		"beside router": {nil, func(a, b *wherry.Consumer) []wherry.Runner {
			return []wherry.Runner{wherry.NewRouter("", wherry.Mount(a)), b}
		}, 2},
		"with a prefix": {nil, func(a, b *wherry.Consumer) []wherry.Runner {
			return []wherry.Runner{wherry.NewRouter("x", wherry.Mount(a)), b}
		}, 0},
		"inside of another": {nil, func(a, b *wherry.Consumer) []wherry.Runner {
			return []wherry.Runner{runnerFunc(func(ctx context.Context) error { return wherry.Run(ctx, a, b) })}
		}, 2},
		"by option":    {[]wherry.ConsumeOption{wherry.Name("mine")}, func(a, b *wherry.Consumer) []wherry.Runner { return []wherry.Runner{a, b} }, 0},
		"of two names": {[]wherry.ConsumeOption{wherry.Name("orders2")}, func(a, b *wherry.Consumer) []wherry.Runner { return []wherry.Runner{wherry.Join(a, b)} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				broker := newMem(t)
				var mu sync.Mutex
				notes := map[*wherry.Consumer]string{}
				consume := func(opts ...wherry.ConsumeOption) *wherry.Consumer {
					var c *wherry.Consumer
					c = wherry.Consume(wherry.Queue(broker, orders), done, append(opts, wherry.OnEvent(func(e wherry.Event) {
						if s, ok := e.(*wherry.Started); ok {
							mu.Lock()
							defer mu.Unlock()
							notes[c] = s.Note
						}
					}))...)
					return c
				}
				r := start(t, c.run(consume(), consume(c.second...))...)
				synctest.Wait()
				mu.Lock()
				assert.Equal(t, len(notes), 2)
				noted := 0
				for _, n := range notes {
					if n == note {
						noted++
					} else {
						assert.Equal(t, n, "")
					}
				}
				mu.Unlock()
				assert.Equal(t, noted, c.noted)
				r.mustEnd()
			})
		})
	}
}

// What is said when it runs is said before, too.
func TestNamesakesAreExplained(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	one, two := wherry.Consume(wherry.Queue(b, orders), done), wherry.Consume(wherry.Queue(b, orders), done, wherry.Name("two"))
	apart := wherry.Explain(wherry.Join(one, two)).String()
	assert.True(t, !strings.Contains(apart, "do not tell them apart"), apart)
	alike := wherry.Explain(wherry.Join(one, two, wherry.Consume(wherry.Queue(b, orders), done))).String()
	assert.Equal(t, strings.Count(alike, "do not tell them apart"), 2)
}

// One that runs again, or after another of its name has ended, has the name for itself.
func TestNamesakeThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var notes calls
		router := wherry.NewRouter("")
		r := start(t, router)
		synctest.Wait()
		for range 2 {
			c := wherry.Consume(wherry.Queue(b, orders), done, wherry.OnEvent(func(e wherry.Event) {
				if s, ok := e.(*wherry.Started); ok {
					notes.add("%s", s.Note)
				}
			}))
			assert.NoError(t, router.Add(t.Context(), c))
			synctest.Wait()
			assert.NoError(t, router.Stop(t.Context(), "orders"))
		}
		assert.Equal(t, notes.all(), []string{"", ""})
		r.mustEnd()
	})
}
