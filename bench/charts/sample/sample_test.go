package sample

import (
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

// TestDocumentIsValid keeps the sample like a document that could be read.
func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	if _, err := document.Decode(encoded()); err != nil {
		t.Error(err)
	}
}
