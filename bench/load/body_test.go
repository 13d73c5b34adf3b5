package load

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/codec"
)

// What fills a queue quickly writes the bytes that the codec would have written.
func TestFilling(t *testing.T) {
	t.Parallel()
	for _, payload := range []int{0, 1, 64, 1 << 10} {
		b := notes(codec.JSON[note]{}, payload)
		v := b.fresh()
		for _, id := range []uint32{0, 7, 4_000_000_000} {
			b.number(&v, id)
			if len(v.Payload) != payload || b.id(&v) != id {
				t.Errorf("payload of %d bytes, id %d, want %d and %d", len(v.Payload), b.id(&v), payload, id)
			}
			want, err := b.codec.Append(nil, &v)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := b.filling.Append(nil, &v); err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %s, want %s; %v", got, want, err)
			}
			var back note
			if err := b.filling.Decode(want, &back); err != nil || b.id(&back) != id {
				t.Errorf("%s is read as %d, %v", want, b.id(&back), err)
			}
		}
		if b.filling.ContentType() != b.codec.ContentType() {
			t.Errorf("the content type is %q", b.filling.ContentType())
		}
	}
}

func TestFillingRefuses(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"", `{"id":`, `{"id":7}`, `{"id":x,"payload":""}`, `{"id":4294967296,"payload":""}`, `{"it":7,"payload":""}`} {
		if err := (filling{}).Decode([]byte(src), new(note)); err == nil {
			t.Errorf("%s is read", src)
		}
	}
}

func TestViews(t *testing.T) {
	t.Parallel()
	b := views(64)
	v := b.fresh()
	b.number(&v, 4_000_000_000)
	if len(v) != 64 || b.id(&v) != 4_000_000_000 {
		t.Errorf("%d bytes with id %d", len(v), b.id(&v))
	}
}

// Bodies have the fields that every subject's have.
func TestNoteFields(t *testing.T) {
	t.Parallel()
	b := notes(codec.JSON[note]{}, 3)
	v := b.fresh()
	b.number(&v, 5)
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(data), `{"id":5,"published_at":1790000000000000000,"payload":"`; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s…", got, want)
	}
}

func TestCodecOf(t *testing.T) {
	t.Parallel()
	if _, err := codecOf(matrix.JSON); err != nil {
		t.Error(err)
	}
	if _, err := codecOf("xml"); err == nil || !strings.Contains(err.Error(), "xml is not part of this program") {
		t.Errorf("got %v", err)
	}
}
