package fastjson

import (
	stdjson "encoding/json"
	"reflect"
	"sync"

	"github.com/segmentio/encoding/json"
)

// A Codec is a wherry.Codec of JSON for values of type T. It is made by [New]; the zero Codec leaves everything to
// encoding/json. It may be shared by any number of goroutines.
type Codec[T any] struct {
	shape *shape // nil where the type is not fast
}

// New returns the codec for T. It looks at the type, so it is called once for a topic, not for each message. Every type is
// allowed: one that is not fast is left to encoding/json.
func New[T any]() Codec[T] {
	s, err := shapeOf(reflect.TypeFor[T]())
	if err != nil {
		return Codec[T]{}
	}
	return Codec[T]{shape: s}
}

// Slow says why T is left to encoding/json, and is nil where it is not. A test that wants to keep a type fast asks it.
func (Codec[T]) Slow() error {
	_, err := shapeOf(reflect.TypeFor[T]())
	return err
}

// Append appends the JSON of v to dst, the same bytes as json.Marshal of encoding/json makes.
func (c Codec[T]) Append(dst []byte, v *T) ([]byte, error) {
	if c.shape != nil {
		// The library is given the slice to append to, and may leave a part of what it wrote behind when it fails.
		if out, err := json.Append(dst, v, json.EscapeHTML|json.SortMapKeys); err == nil {
			return out, nil
		}
	}
	b, err := stdjson.Marshal(v)
	if err != nil {
		return dst, err
	}
	return append(dst, b...), nil
}

// Decode parses src into v, as json.Unmarshal of encoding/json does into a zero value: nothing that v held shows through.
func (c Codec[T]) Decode(src []byte, v *T) error {
	var zero T
	*v = zero
	if c.shape != nil && c.decodeFast(src, v) {
		return nil
	}
	return stdjson.Unmarshal(src, v)
}

// decodeFast decodes a body of the plain form and reports whether it was one. If not, v is zero.
func (c Codec[T]) decodeFast(src []byte, v *T) bool {
	s := scan{src: src}
	if c.shape.flat {
		s.flat, s.into = true, reflect.ValueOf(v).Elem()
	}
	ok := s.document(c.shape)
	if ok && !s.flat {
		_, err := json.Parse(s.wanted(), v, json.DontMatchCaseInsensitiveStructFields)
		ok = err == nil
	}
	s.free()
	if !ok {
		// Whatever was set before a number that overflows its field, for example, goes.
		var zero T
		*v = zero
	}
	return ok
}

// ContentType returns "application/json".
func (Codec[T]) ContentType() string { return "application/json" }

// A scratch holds what is left of a body whose members are not all wanted.
type scratch struct{ b []byte }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch is the most bytes of a scratch that are kept for the next body.
const maxScratch = 64 << 10
