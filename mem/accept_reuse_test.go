//go:build !race

package mem_test

import (
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A large body is as cheap to accept as a small one, and its buffer comes back once it is done. In race builds none does.
func TestAcceptExchangesLargeBuffers(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{})
	topic := queueTopic("orders")
	a, r := accepter(t, b, topic), receiver(t, b, "", topic)
	var before *byte
	for i := range 3 {
		rec := driver.Record{Body: make([]byte, 32<<10)}
		mine := &rec.Body[0]
		if !a.Accept(&rec) {
			t.Fatal("a large body was not accepted")
		}
		switch {
		case i == 0 && cap(rec.Body) != 0:
			t.Errorf("a buffer of %d bytes came from nowhere", cap(rec.Body))
		case i > 0 && (cap(rec.Body) != 32<<10 || &rec.Body[:1][0] != before):
			t.Errorf("a buffer of %d bytes came back, want the one before", cap(rec.Body))
		}
		before = mine
		settle(t, r, driver.Done, take(t, r, 1)...)
	}
}
