// Package codec turns values into bodies and back, with the standard library only.
//
// Every codec here is a small value that is used as it stands, keeps nothing and may be shared by any number of
// goroutines. A codec of your own needs the three methods of wherry.Codec, and may have a fourth: Reuses() bool tells the
// engine that Decode wants the value of the message before, to use its memory again, instead of a zeroed one.
package codec

import "encoding/json"

// JSON is the codec of encoding/json for values of type T, and what most topics use. It allocates what encoding/json
// allocates. A field that is missing from a body is the zero value.
type JSON[T any] struct{}

// Append appends the JSON of v to dst.
func (JSON[T]) Append(dst []byte, v *T) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return dst, err
	}
	return append(dst, b...), nil
}

// Decode parses src into v. It is an error when src is empty or holds more than one value.
func (JSON[T]) Decode(src []byte, v *T) error { return json.Unmarshal(src, v) }

// ContentType returns "application/json".
func (JSON[T]) ContentType() string { return "application/json" }
