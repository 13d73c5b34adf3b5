package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
)

type value struct {
	Text   string            `json:"text,omitempty"`
	Number int64             `json:"number,omitempty"`
	List   []string          `json:"list,omitempty"`
	Map    map[string]string `json:"map,omitempty"`
}

// FuzzJSON: what encodes decodes to the same, after whatever stood in front of it.
func FuzzJSON(f *testing.F) {
	f.Add("text", int64(1), "item", []byte("before"))
	f.Fuzz(func(t *testing.T, text string, n int64, item string, before []byte) {
		in := value{Text: text, Number: n, List: []string{item}, Map: map[string]string{item: text}}
		out, err := codec.JSON[value]{}.Append(bytes.Clone(before), &in)
		if err != nil || !bytes.HasPrefix(out, before) {
			t.Fatalf("Append: %q, %v", out, err)
		}
		var got, want value
		if err := (codec.JSON[value]{}).Decode(out[len(before):], &got); err != nil {
			t.Fatal(err)
		}
		plain, _ := json.Marshal(&in)
		if err := json.Unmarshal(plain, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, encoding/json gives %+v, %v", got, want, err)
		}
	})
}

// FuzzBytes: bodies come back byte for byte, as copies or as views.
func FuzzBytes(f *testing.F) {
	f.Add([]byte{}, []byte("x"))
	f.Fuzz(func(t *testing.T, body, before []byte) {
		out, err := codec.Bytes{}.Append(bytes.Clone(before), &body)
		if err != nil || !bytes.Equal(out, append(bytes.Clone(before), body...)) {
			t.Fatalf("Append: %q, %v", out, err)
		}
		src := out[len(before):]
		var copied, view []byte
		if err := errors.Join((codec.Bytes{}).Decode(src, &copied), (codec.BytesView{}).Decode(src, &view)); err != nil {
			t.Fatal(err)
		}
		if copied == nil || !bytes.Equal(copied, body) || !bytes.Equal(view, body) || cap(view) != len(view) {
			t.Fatalf("copy %q, view %q of capacity %d", copied, view, cap(view))
		}
		for i := range src {
			src[i] ^= 0xff
		}
		if !bytes.Equal(copied, body) {
			t.Fatal("the copy changed with its source")
		}
	})
}

// FuzzText: valid UTF-8 comes back, anything else is refused both ways.
func FuzzText(f *testing.F) {
	f.Add("grüße")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, s string) {
		out, err := codec.Text{}.Append(nil, &s)
		var got string
		decodeErr := (codec.Text{}).Decode([]byte(s), &got)
		if !utf8.ValidString(s) {
			if !errors.Is(err, codec.ErrNotUTF8) || !errors.Is(decodeErr, codec.ErrNotUTF8) {
				t.Fatalf("%q: %v, %v", s, err, decodeErr)
			}
			return
		}
		if err != nil || decodeErr != nil || got != s || string(out) != s {
			t.Fatalf("%q came back as %q, %v, %v", s, got, err, decodeErr)
		}
	})
}

func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	var v value
	for _, bad := range []string{"", "{", `{"number":"x"}`, `{} {}`, "\xff"} {
		assert.True(t, (codec.JSON[value]{}).Decode([]byte(bad), &v) != nil, "refused: "+bad)
	}
	f := func() {}
	_, err := codec.JSON[func()]{}.Append(nil, &f)
	assert.True(t, err != nil, "a function has no JSON")
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		codec.JSON[int]{}.ContentType(), codec.Bytes{}.ContentType(), codec.BytesView{}.ContentType(), codec.Text{}.ContentType(),
	}, []string{"application/json", "application/octet-stream", "application/octet-stream", "text/plain; charset=utf-8"})
	assert.True(t, codec.BytesView{}.Reuses(), "a view overwrites the value")
}
