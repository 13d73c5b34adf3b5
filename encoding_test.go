package wherry

import (
	"sync"
	"testing"
)

// A publisher's own encoding is replaced while others give theirs back. The race detector judges.
func TestEncodingsAreReplacedBesideOthers(t *testing.T) {
	t.Parallel()
	c := &publisherCore{}
	c.pool.New = func() any { return c.newEncoding() }
	c.ownEncoding()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				if e := c.take(); e.own {
					c.replace(e)
				} else {
					c.give(e)
				}
			}
		})
	}
	all.Wait()
	if e := c.take(); !e.own || e != c.own {
		t.Error("the publisher's own encoding is lost")
	}
}
