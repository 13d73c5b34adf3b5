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

// A tenure that is ending may be lost before its time. Whoever told of it hears both times when nothing of it is left.
func TestSidelineTenureThatEndsTwiceIsDoneTwice(t *testing.T) {
	t.Parallel()
	const tenure = 7
	d := &driver.Delivery{Tenure: tenure}
	s := &sideline{held: map[*driver.Delivery]uint64{d: tenure}, ended: map[uint64]func(){}, changed: make(chan struct{})}
	var done [3]int
	s.end(driver.Revocation{Tenure: tenure, Done: func() { done[0]++ }})
	assert.Equal(t, done, [3]int{})
	s.end(driver.Revocation{Tenure: tenure, Lost: true, Done: func() { done[1]++ }})
	assert.Equal(t, done, [3]int{1, 1, 0})
	s.end(driver.Revocation{Tenure: tenure, Lost: true, Done: func() { done[2]++ }})
	assert.Equal(t, done, [3]int{1, 1, 1})
	assert.Equal(t, s.over, []uint64{tenure})
}
