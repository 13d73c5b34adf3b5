package errtext_test

import (
	"errors"
	"testing"

	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/internal/errtext"
)

type wordless struct{ text string }

func (w *wordless) Error() string { return w.text }

func TestOf(t *testing.T) {
	t.Parallel()
	assert.Equal(t, errtext.Of(errors.New("down")), "down")
	var none *wordless
	assert.Equal(t, errtext.Of(none),
		"*errtext_test.wordless, whose Error panicked: runtime error: invalid memory address or nil pointer dereference")
}
