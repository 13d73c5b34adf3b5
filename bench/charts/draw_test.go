package charts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/wherryhq/wherry/bench/charts/sample"
)

func TestPreview(t *testing.T) {
	files, err := Draw(sample.Document())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		os.WriteFile("/tmp/h4/out/"+f.Name, f.Data, 0o600)
		d := xml.NewDecoder(bytes.NewReader(f.Data))
		for {
			if _, err := d.Token(); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v", f.Name, err)
				}
				break
			}
		}
	}
}
