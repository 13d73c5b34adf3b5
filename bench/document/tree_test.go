package document

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestTree compares what is written with what package encoding/json writes.
func TestTree(t *testing.T) {
	t.Parallel()
	d := sample(t)
	d.Host.CPU = "a <b> & \"c\" \\ \t é \u2028"
	d.Backends[0].Levers.Rows[0].Extra.BusiestShare = 1e-9
	d.Backends[0].Levers.Rows[0].Summary.Best = 1e21
	d.Backends[0].Levers.Provenance.Environment["A \"name\""] = ""
	want, err := marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Compact(&got, encoded(t, d)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("written is\n%s\nwant\n%s", got.Bytes(), want)
	}
}
