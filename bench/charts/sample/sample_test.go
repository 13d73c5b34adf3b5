package sample

import (
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

// TestDocumentIsValid keeps the sample like a document that could be read.
func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	data, err := document.Encode(Document())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := document.Decode(data); err != nil {
		t.Error(err)
	}
}
