package ear_test

import (
	"testing"

	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/internal/ear"
)

type hearing = ear.Ear

// A broker hears without a method that others could call.
type broker struct{ hearing }

func TestABrokerThatEmbedsAnEarHears(t *testing.T) {
	t.Parallel()
	var heard []any
	hear := ear.Of(&broker{ear.New(func(e any) { heard = append(heard, e) })})
	hear("paid")
	assert.Equal(t, heard, []any{"paid"})
}

func TestOthersHearNothing(t *testing.T) {
	t.Parallel()
	for _, b := range []any{nil, "a broker", &broker{}} {
		assert.True(t, ear.Of(b) == nil, "hears nothing")
	}
}
