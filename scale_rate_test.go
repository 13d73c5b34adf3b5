package wherry

import (
	"testing"
	"time"

	"github.com/wherryhq/wherry/internal/assert"
)

func TestWorkRate(t *testing.T) {
	t.Parallel()
	var r workRate
	assert.Equal(t, r.perSecond(), 0)
	r.add(50, 500*time.Millisecond)
	assert.Equal(t, r.perSecond(), 100)
	for range 100 {
		r.add(20, time.Second)
	}
	assert.Equal(t, r.perSecond(), 20)
	for range rateParts - 1 {
		assert.True(t, r.perSecond() > 0, "it forgot half a minute too early")
		r.add(0, time.Second)
	}
	assert.Equal(t, r.perSecond(), 0)
	r.add(60, time.Minute) // a look may be long
	assert.True(t, r.perSecond() > 0.6 && r.perSecond() < 0.7, "a long look counts as one")
}
