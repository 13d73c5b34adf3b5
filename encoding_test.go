package wherry

import (
	"sync"
	"testing"
)

// Encodings take their numbers from the publisher by the block. No two messages may have one number, whichever encodings
// they were written in and whether those came back to the pool or were lost.
func TestNumbersAreNotRepeated(t *testing.T) {
	t.Parallel()
	const publishers, each = 4, 3*numberBlock + 1
	c := &publisherCore{}
	c.pool.New = func() any { return c.newEncoding() }
	numbers := make(chan []uint64, publishers)
	var all sync.WaitGroup
	for range publishers {
		all.Go(func() {
			var mine []uint64
			for i := range each {
				e := c.take()
				mine = append(mine, e.number(c))
				if i%100 != 0 {
					c.give(e)
				}
			}
			numbers <- mine
		})
	}
	all.Wait()
	close(numbers)
	seen := map[uint64]bool{0: true}
	for mine := range numbers {
		for _, n := range mine {
			if seen[n] {
				t.Fatalf("number %d came twice, or is 0", n)
			}
			seen[n] = true
		}
	}
}
