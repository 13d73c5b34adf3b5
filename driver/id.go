package driver

import (
	"strconv"
)

// An ID names a message for its whole life, copies included. It is a text that the user chose, or a pair of numbers
// whose text is made only when somebody asks. The zero ID is no id.
type ID struct {
	// Prefix and Seq are the id where Text is empty and one of them is not zero.
	Prefix, Seq uint64
	// Text is the id when it is not empty.
	Text string
}

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.Text == "" && id.Prefix == 0 && id.Seq == 0 }

// String returns the id's text: the chosen one, or 16 hexadecimal digits, a hyphen and a decimal number.
func (id ID) String() string {
	if id.Text != "" || id.IsZero() {
		return id.Text
	}
	return string(id.Append(make([]byte, 0, 40)))
}

// Append appends the id's text to dst.
func (id ID) Append(dst []byte) []byte {
	if id.Text != "" || id.IsZero() {
		return append(dst, id.Text...)
	}
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[id.Prefix>>shift&15])
	}
	dst = append(dst, '-')
	return strconv.AppendUint(dst, id.Seq, 10)
}
