package codec

import "slices"

// Bytes carries a body as it is. Decode gives the handler a copy of its own, which may be kept and changed.
type Bytes struct{}

// Append appends *v to dst.
func (Bytes) Append(dst []byte, v *[]byte) ([]byte, error) { return append(dst, *v...), nil }

// Decode sets *v to a copy of src, never nil.
func (Bytes) Decode(src []byte, v *[]byte) error {
	*v = append(make([]byte, 0, len(src)), src...)
	return nil
}

// ContentType returns "application/octet-stream".
func (Bytes) ContentType() string { return "application/octet-stream" }

// Copies reports whether a codec is this one, and not one that has it embedded: its bodies are copies of the values.
func (Bytes) Copies(codec any) bool {
	_, ok := codec.(Bytes)
	return ok
}

// BytesView carries a body as it is, without a copy and without an allocation: the value that a handler sees is the
// memory of the delivery. It is read-only, valid until the handler returns, and used again afterwards. Whoever needs it
// for longer copies it.
type BytesView struct{}

// Append appends *v to dst.
func (BytesView) Append(dst []byte, v *[]byte) ([]byte, error) { return append(dst, *v...), nil }

// Decode sets *v to src itself, with no capacity beyond its length, so that an append does not write over a neighbour.
func (BytesView) Decode(src []byte, v *[]byte) error {
	*v = slices.Clip(src)
	return nil
}

// ContentType returns "application/octet-stream".
func (BytesView) ContentType() string { return "application/octet-stream" }

// Reuses tells that Decode overwrites the value whatever it held.
func (BytesView) Reuses() bool { return true }

// Copies reports whether a codec is this one, and not one that has it embedded: its bodies are copies of the values.
func (BytesView) Copies(codec any) bool {
	_, ok := codec.(BytesView)
	return ok
}
