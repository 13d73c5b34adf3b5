package wherry

import (
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

// What a lane hands over is in one place from then on. Counted twice, the end of its tenure would never be told.
func TestHandedOverIsCountedOnce(t *testing.T) {
	t.Parallel()
	const tenure = 7
	settled, moved := &driver.Delivery{Tenure: tenure}, &driver.Delivery{Tenure: tenure}
	for name, bulk := range map[string]*bulk{"one by one": nil, "batch": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &running{c: &Consumer{}, retries: &outlet{}}
			w := &worker{r: r, out: &flush{}}
			// The mover is there and does not run, so that what it is given stays with it.
			w.movers[0] = &mover{w: w, out: r.retries, wake: make(chan struct{}, 1)}
			l := &lane{w: w, bulk: bulk}
			w.lanes = []*lane{l}
			want := 1
			if bulk == nil {
				l.current = moved
				w.handOver(l, nil, []*move{{d: moved, out: r.retries}})
			} else {
				bulk.held, want = append(bulk.held, settled, moved), 2
				w.handOver(l, []driver.Settlement{{Delivery: settled}}, []*move{{d: moved, out: r.retries}})
			}
			assert.Equal(t, w.countLocked(tenure), want)
			assert.Equal(t, int(w.handled), want)
			assert.Equal(t, len(l.heldLocked()), 0)
		})
	}
}
