package wherry

import (
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

// What a hold's receiver knows of ended tenures does not grow with them, and the latest it knows.
func TestSidelineForgetsOldTenures(t *testing.T) {
	t.Parallel()
	s := &sideline{held: map[*driver.Delivery]uint64{}, ended: map[uint64]func(){}, changed: make(chan struct{})}
	told := 0
	for tenure := uint64(1); tenure <= 1000; tenure++ {
		s.end(driver.Revocation{Tenure: tenure, Done: func() { told++ }})
	}
	assert.Equal(t, told, 1000)
	assert.Equal(t, len(s.ended), maxEndedTenures)
	gone, _ := s.gone(&driver.Delivery{Tenure: 1000})
	assert.True(t, gone, "the last tenure has ended")
}
