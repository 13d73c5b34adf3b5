package wherry

import (
	"math"
	"testing"
	"time"

	"github.com/wherryhq/wherry/internal/assert"
)

// Pauses double up to the longest, whatever the number of failures, and are spread over a quarter.
func TestBackoffGrowsAndIsSpread(t *testing.T) {
	t.Parallel()
	b := backoff{100 * time.Millisecond, 2 * time.Second}
	assert.Equal(t, b.after(0), 0)
	for failures, least := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 5: 1600 * time.Millisecond, 6: 2 * time.Second,
		64: 2 * time.Second, math.MaxInt: 2 * time.Second,
	} {
		seen := map[time.Duration]bool{}
		for range 100 {
			d := b.after(failures)
			if d < least || d > least+least/4 {
				t.Fatalf("pause of %v after %d failures, want %v to a quarter more", d, failures, least)
			}
			seen[d] = true
		}
		assert.True(t, len(seen) > 1, "pauses are not all alike")
	}
}
