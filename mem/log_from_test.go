package mem_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A reader from a time that has not come passes over what is sent before it, and holds up nobody with it.
func TestLogReaderFromATimeAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.NewLog(mem.LogConfig{Partitions: 2})
		topics := []driver.Topic{{Name: "spread", Fanout: true}}
		r, err := b.OpenBroadcast(t.Context(), driver.Source{Topics: topics, From: driver.Position{Time: time.Now().Add(time.Hour)}})
		assert.NoError(t, err)
		s, err := b.OpenSender(t.Context(), driver.Target{Topic: topics[0]})
		assert.NoError(t, err)
		send := func(bodies ...string) {
			for _, body := range bodies {
				assert.NoError(t, s.Send(t.Context(), []driver.Record{{Body: []byte(body)}}))
			}
		}
		var got []string
		go func() {
			for dst := make([]*driver.Delivery, 0, 10); ; {
				ds, err := r.Receive(t.Context(), dst)
				if err != nil {
					return
				}
				for _, d := range ds {
					got = append(got, string(d.Body))
				}
			}
		}()
		send("early", "earlier")
		time.Sleep(time.Hour)
		send("one", "two")
		synctest.Wait()
		assert.Equal(t, got, []string{"one", "two"})
		assert.NoError(t, b.Close(t.Context()))
	})
}
