package wherry

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

// envelopeCodec is JSON with the standard library, as package codec has it; that package imports nothing of ours.
type envelopeCodec struct{}

type envelope struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

func (envelopeCodec) Append(dst []byte, v *envelope) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}
func (envelopeCodec) Decode(src []byte, v *envelope) error { return json.Unmarshal(src, v) }
func (envelopeCodec) ContentType() string                  { return "application/json" }

// FuzzDeadLetterEnvelope: a dead letter always decodes. What its body is, and what its control data says, changes only
// what it holds: the failure as it is, and either the value or the reason why there is none.
func FuzzDeadLetterEnvelope(f *testing.F) {
	f.Add([]byte(`{"id":1,"text":"x"}`), "1;f=1;ft=orders;fr=rejected;f1=no;fa=3")
	f.Add([]byte("rubbish"), "")
	f.Add([]byte{}, "1;f=1")
	dead := DeadLetters(NewTopic("orders", envelopeCodec{}))
	decode := bindDecode(dead.spec.codec)
	f.Fuzz(func(t *testing.T, body []byte, control string) {
		c, err := driver.ParseControl(control)
		if err != nil {
			return
		}
		got := DeadLetter[envelope]{Value: envelope{ID: 99, Text: "of the letter before"}, Err: errors.New("stale")}
		if err := decode(&driver.Delivery{Body: bytes.Clone(body), Control: c}, &got); err != nil {
			t.Fatalf("the envelope of %q does not decode: %v", body, err)
		}
		var want envelope
		if wantErr := json.Unmarshal(body, &want); wantErr != nil {
			if got.Err == nil || got.Value != (envelope{}) {
				t.Fatalf("%q: Err %v, value %+v", body, got.Err, got.Value)
			}
		} else if got.Err != nil || got.Value != want {
			t.Fatalf("%q: Err %v, value %+v, want %+v", body, got.Err, got.Value, want)
		}
		if f := c.Failure; f == nil {
			assert.Equal(t, got.DeadLetterInfo, DeadLetterInfo{})
		} else if string(got.Reason) != f.Reason || got.FirstError != f.First || got.Attempts != f.Attempts || got.Topic != f.Topic {
			t.Fatalf("%+v came out as %+v", f, got.DeadLetterInfo)
		}
	})
}

// FuzzHeader: a header that is accepted can be carried by every broker, and is not one of ours.
func FuzzHeader(f *testing.F) {
	for _, k := range []string{"", "k", "wherry-id", "WHERRY-control", "wherry", "a\nb", "ü", "\xff"} {
		f.Add(k, "value")
	}
	f.Add("k", "a\xffb")
	f.Fuzz(func(t *testing.T, key, value string) {
		err := checkHeader(key, value)
		ours := strings.HasPrefix(strings.ToLower(key), driver.ReservedPrefix)
		control := strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f })
		bad := key == "" || ours || control || !utf8.ValidString(key) || !utf8.ValidString(value)
		if bad != (err != nil) {
			t.Fatalf("header %q: %q gives %v", key, value, err)
		}
		e := (&publisherCore{}).newEncoding()
		o := WithHeader(key, value)
		if (o.apply(e) != nil) != bad || len(e.headers) > 0 == bad {
			t.Fatalf("header %q: %q was applied as %v", key, value, e.headers)
		}
	})
}
