package fastjson

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/wherryhq/wherry"
)

var _ wherry.Codec[order] = Codec[order]{}

// plainBodies are of the plain form, for an order: the library decodes them.
var plainBodies = []string{
	`{"id":1,"quantity":2}`,
	`{"quantity":2,"id":1}`,
	`{}`,
	" {\t\"id\" :\r\n 1 , \"quantity\" : 2 } ",
	`{"id":1,"more":null,"quantity":2}`,
	`{"more":{"id":7,"x":[1,2.5e-3,{"y":"z"}]},"id":1}`,
	`{"a":1,"b":2,"id":1,"c":3,"d":4,"quantity":2,"e":5,"f":6}`,
	`{"id":1,"city":"Malmö","quantity":2}`,
	`{"only":"filler"}`,
	`{"id":1764568800123456789,"quantity":2}`,
	`{"id":9223372036854775807}`,
	`{"id":1000000000,"quantity":37,"f0":"0000000000000000","f1":"` + strings.Repeat("long", 99) + `"}`,
}

// TestFastPathIsTaken: plain bodies never reach encoding/json, and what is not plain does.
func TestFastPathIsTaken(t *testing.T) {
	t.Parallel()
	c := New[order]()
	for _, body := range plainBodies {
		var got, want order
		if !c.decodeFast([]byte(body), &got) {
			t.Errorf("%s went to encoding/json", body)
		}
		if err := stdjson.Unmarshal([]byte(body), &want); err != nil || got != want {
			t.Errorf("%s: got %+v, want %+v (%v)", body, got, want, err)
		}
	}
	for _, body := range slowBodies {
		var v order
		if c.decodeFast([]byte(body), &v) || v != (order{}) {
			t.Errorf("%s did not go to encoding/json, or left %+v behind", body, v)
		}
	}
}

// TestLibraryIsTaken: a plain body of a type with everything in it never reaches encoding/json, and what no field wants
// never reaches the library.
func TestLibraryIsTaken(t *testing.T) {
	t.Parallel()
	var got, want every
	if !New[every]().decodeFast([]byte(everything), &got) {
		t.Error("went to encoding/json")
	}
	//nolint:musttag // Fields without a tag are a part of what is tried.
	if err := stdjson.Unmarshal([]byte(everything), &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v (%v)", got, want, err)
	}
	for body, want := range map[string]string{
		`{"a":"x","u":1,"B":2,"v":[],"w":{}}`:       `{"a":"x","B":2}`,
		`{"u":1,"v":2,"a":"x"}`:                     `{"a":"x"}`,
		`{"u":1 , "v":2}`:                           `{}`,
		`{ "u" : 1 , "a" : "x" , "v" : 2 , "w":3 }`: `{ "a" : "x"  }`,
		`{"a":"x","B":2}`:                           `{"a":"x","B":2}`,
	} {
		s := scan{src: []byte(body)}
		sh, err := shapeOf(reflect.TypeFor[inner]())
		if err != nil || !s.document(sh) || string(s.wanted()) != want {
			t.Errorf("%s: %q is left (%v), want %q", body, s.wanted(), err, want)
		}
		s.free()
	}
}

// slowBodies are not of the plain form, or are no JSON for an order at all.
var slowBodies = []string{
	``, ` `, `null`, `[]`, `{`, `{"id"`, `{"id":`, `{"id":1`, `{"id":1,`, `{"id":1,}`, `{"id":1}}`, `{"id":1} {}`, `{,}`,
	`{"id":null}`, `{"ID":1}`, `{"Id":1}`, `{"id":1,"iD":2}`, `{"id":1,"id":2}`, `{"i\u0064":1}`, `{"more":"\n"}`, "{\"more\":\"\n\"}",
	`{"id":-1}`, `{"id":1.0}`, `{"id":1e3}`, `{"id":01}`, `{"id":"1"}`, `{"id":true}`, `{"id":9999999999999999999}`, `{"id":9223372036854775808}`,
	`{"quantity":4294967296}`, `{"id":1,"quantity":-0}`, `{"more":tru}`, `{"more":nul}`, `{"more":1.}`, `{"more":.5}`, `{"more":+1}`,
	`{"more":1e}`, `{"more":-}`, `{"more":"x}`, `{"more":"` + strings.Repeat("x", 99), `{"more":"` + strings.Repeat("x", 99) + `\"}`,
	"{\"more\":\"" + strings.Repeat("x", 99) + "\t\"}", "{\"more\":\"\xff\"}", "{\"\xff\":1}", `{"K":1,"ſ":2}`, `{id:1}`, `{'id':1}`,
	`{"more":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`, `{"more":[1,]}`, `{"more":[,1]}`, `{"more":{"x":1,}}`, "\ufeff{}",
}

// TestSlowBodies: those are accepted and refused as by encoding/json.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	for _, body := range slowBodies {
		same[order](t, []byte(body))
	}
}

// same decodes a body by the codec and by encoding/json, which must agree, and by the codec once more over another value.
func same[T any](t *testing.T, body []byte) {
	t.Helper()
	var got, want, again T
	c := New[T]()
	src := append([]byte{}, body...)
	err, wantErr := c.Decode(src, &got), stdjson.Unmarshal(body, &want)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%T, %q: got error %v, encoding/json has %v", want, body, err, wantErr)
	}
	if !bytes.Equal(src, body) {
		t.Fatalf("%T, %q: the body was changed to %q", want, body, src)
	}
	if err != nil {
		return
	}
	for i := range src {
		src[i] = '#'
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%T, %q: got %+v, encoding/json has %+v", want, body, got, want)
	}
	// What was written and read once holds something in every field. None of it may show through.
	_ = c.Decode([]byte(everything), &again)
	if err := c.Decode(body, &again); err != nil || !reflect.DeepEqual(again, want) {
		t.Fatalf("%T, %q: over another value, got %+v, %v, want %+v", want, body, again, err, want)
	}
	sameBytes(t, &want)
}

// sameBytes encodes a value by the codec and by encoding/json, which must agree.
func sameBytes[T any](t *testing.T, v *T) {
	t.Helper()
	const before = "before"
	got, err := New[T]().Append([]byte(before), v)
	want, wantErr := stdjson.Marshal(v)
	if (err == nil) != (wantErr == nil) || string(got) != before+string(want) {
		t.Fatalf("%+v: got %q, %v, encoding/json has %q, %v", *v, got, err, want, wantErr)
	}
}

func TestSlow(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		New[order]().Slow(), New[every]().Slow(), New[one]().Slow(), New[empty]().Slow(), New[list]().Slow(), New[table]().Slow(),
	} {
		if err != nil {
			t.Errorf("left to encoding/json: %v", err)
		}
	}
	for want, err := range map[string]error{
		"has a method MarshalJSON of its own":     New[timed]().Slow(),
		"time.Duration is written in a way of":    New[lasting]().Slow(),
		"interface {} is not of a plain kind":     New[anything]().Slow(),
		"[2]int is not of a plain kind":           New[fixed]().Slow(),
		"[]uint8 is written as base64":            New[raw]().Slow(),
		"fastjson.embedded embeds fastjson.inner": New[embedded]().Slow(),
		`field V has the option "string"`:         New[options]().Slow(),
		`field V has the option "omitzero"`:       New[zeroes]().Slow(),
		`alike but for case: "value" and "Value"`: New[alike]().Slow(),
		"fastjson.recursive contains itself":      New[recursive]().Slow(),
		"json.Number is written in a way of":      New[numeric]().Slow(),
		"field V has a name that is more than":    New[worded]().Slow(),
		"fastjson.keyed has keys that are not":    New[keyed]().Slow(),
		"fastjson.counted has keys that are not":  New[counted]().Slow(),
		"complex128 is not of a plain kind":       New[complete]().Slow(),
		"string is no struct, slice or map":       New[string]().Slow(),
		"*fastjson.order is no struct, slice or":  New[*order]().Slow(),
		"func() is not of a plain kind":           New[struct{ V func() }]().Slow(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestZeroCodec: it works, by encoding/json.
func TestZeroCodec(t *testing.T) {
	t.Parallel()
	var c Codec[order]
	var v order
	if err := c.Decode([]byte(`{"id":7}`), &v); err != nil || v.ID != 7 {
		t.Errorf("got %+v, %v", v, err)
	}
	if b, err := c.Append(nil, &v); err != nil || string(b) != `{"id":7,"quantity":0}` {
		t.Errorf("got %s, %v", b, err)
	}
	if c.ContentType() != "application/json" {
		t.Errorf("got %q", c.ContentType())
	}
}

// TestAppendRefuses: what encoding/json cannot write is its error, and dst is as it was.
func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	v := every{Double: math.NaN()}
	b, err := New[every]().Append([]byte("x"), &v)
	if _, ok := errors.AsType[*stdjson.UnsupportedValueError](err); !ok || string(b) != "x" {
		t.Errorf("got %q, %v", b, err)
	}
}

// TestOwned: a value keeps nothing of its body, nor of what another decode uses.
func TestOwned(t *testing.T) {
	t.Parallel()
	c := New[one]()
	var all sync.WaitGroup
	for _, text := range []string{"first", "second", "third", "fourth"} {
		all.Go(func() {
			for range 200 {
				body := []byte(`{"x":0,"V":"` + text + `","y":0}`)
				var v, other one
				if err := c.Decode(body, &v); err != nil {
					t.Error(err)
				}
				clear(body)
				if err := c.Decode([]byte(`{"x":0,"V":"######","y":0}`), &other); err != nil || v.V != text {
					t.Errorf("got %q, %v, want %q", v.V, err, text)
				}
			}
		})
	}
	all.Wait()
}

// TestDecodeAllocates: a plain body of numbers costs no allocation, filler or not.
func TestDecodeAllocates(t *testing.T) { //nolint:paralleltest // Allocations are counted for the whole process.
	c := New[order]()
	body := []byte(plainBodies[len(plainBodies)-1])
	var v order
	n := testing.AllocsPerRun(1000, func() {
		if err := c.Decode(body, &v); err != nil {
			t.Error(err)
		}
	})
	if n >= 1 {
		t.Errorf("%v allocations, want none", n)
	}
}
