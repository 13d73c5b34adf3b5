package wherry

import (
	"context"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Of records that are sent together each goes where its own time has it go, also where the broker cannot delay.
func TestRecordsSentTogetherGoTheirOwnWays(t *testing.T) {
	t.Parallel()
	for name, weak := range map[string]mem.Weak{"holds": {}, "cannot hold": {NoHold: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mem.New(mem.Config{Weak: weak})
			defer b.Close(context.Background())
			o, err := openOutlet(t.Context(), b, driver.Target{Topic: driver.Topic{Name: "orders"}})
			assert.NoError(t, err)
			hour := driver.StampOf(time.Now().Add(time.Hour))
			assert.NoError(t, o.sendOnce(t.Context(), []driver.Record{{}, {Due: hour}, {}}))
			assert.NoError(t, o.sendOnce(t.Context(), []driver.Record{{}}))
			d, err := b.Depth(t.Context(), driver.Source{Topics: []driver.Topic{{Name: "orders"}}})
			assert.NoError(t, err)
			assert.Equal(t, d.Ready, 3)
			if weak.NoHold {
				held, err := b.Depth(t.Context(), driver.Source{Topics: []driver.Topic{holdTopic("orders", "", 6)}})
				assert.NoError(t, err)
				assert.Equal(t, held.Ready, 1)
			} else {
				assert.Equal(t, d.Held, 1)
			}
			assert.NoError(t, o.close(t.Context()))
		})
	}
}
