package codec

import (
	"errors"
	"unicode/utf8"
)

// ErrNotUTF8 is a text that is not valid UTF-8.
var ErrNotUTF8 = errors.New("text is not valid UTF-8")

// Text carries a string as UTF-8. Both directions refuse what is not valid UTF-8 with [ErrNotUTF8].
type Text struct{}

// Append appends *v to dst.
func (Text) Append(dst []byte, v *string) ([]byte, error) {
	if !utf8.ValidString(*v) {
		return dst, ErrNotUTF8
	}
	return append(dst, *v...), nil
}

// Decode sets *v to src.
func (Text) Decode(src []byte, v *string) error {
	if !utf8.Valid(src) {
		return ErrNotUTF8
	}
	*v = string(src)
	return nil
}

// ContentType returns "text/plain; charset=utf-8".
func (Text) ContentType() string { return "text/plain; charset=utf-8" }
