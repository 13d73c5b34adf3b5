package wherry_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// What a router shares is for those that it fits: the others run without it. As an option of their own it is a mistake.
func TestRouterLeavesOutWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		ack := func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
		news := wherry.NewTopic("news", jsonOrders{}, wherry.Fanout())
		payments := wherry.NewTopic("payments", jsonOrders{})
		misfits := []wherry.ConsumerOption{wherry.Prefetch(100), wherry.Workers(2), wherry.DeadLetterTo("graves")}
		kinds := []func(...wherry.ConsumeOption) *wherry.Consumer{
			func(o ...wherry.ConsumeOption) *wherry.Consumer {
				return wherry.Consume(wherry.Queue(b, orders), ack, o...)
			},
			func(o ...wherry.ConsumeOption) *wherry.Consumer {
				return wherry.Consume(wherry.Broadcast(b, news), ack, o...)
			},
			func(o ...wherry.ConsumeOption) *wherry.Consumer {
				return wherry.Consume(wherry.Transacted(b, payments), ack, o...)
			},
		}
		var all []*wherry.Consumer
		for i, kind := range kinds {
			all = append(all, kind())
			var own []wherry.ConsumeOption
			for _, o := range misfits {
				own = append(own, o)
			}
			if err := kind(own...).Run(ended(t)); i > 0 {
				assert.True(t, err != nil, "as an option of its own it is a mistake")
			} else {
				assert.NoError(t, err)
			}
		}
		service := wherry.NewRouter("all", wherry.Share(misfits...), wherry.Mount(all[0], all[1], all[2]))
		r := start(t, service)
		synctest.Wait()
		for i, want := range []struct {
			workers, prefetch int
			dead              string
		}{{2, 100, "graves"}, {1, 100, ""}, {2, 500, "graves"}} {
			got := wherry.Explain(all[i]).Consumers[0]
			assert.Equal(t, got.Limits.Workers, want.workers)
			assert.Equal(t, got.Limits.Prefetch, want.prefetch)
			assert.Equal(t, got.Retries.DeadLetters, want.dead)
			assert.True(t, all[i].Health().Ready, strings.Join(service.Names(), " "))
		}
		r.mustEnd()
	})
}

// ended is a context that has ended.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	return ctx
}
