package fastjson

import (
	"bytes"
	"reflect"
	"unicode/utf8"

	"github.com/segmentio/asm/ascii"
)

// maxDepth is how deep values may be nested in a body of the plain form.
const maxDepth = 64

// A scan goes once through a body and says whether it is of the plain form: JSON by the grammar, and of those bodies on
// which the library and encoding/json agree. Members that no field wants are left out of what is wanted of the body.
//
// A method that goes over something takes the place where that begins and returns the place behind it, or notPlain.
type scan struct {
	src   []byte
	depth int
	clean bool // whether no byte is a backslash, a control character or beyond ASCII
	wide  bool // whether there was a byte beyond ASCII

	flat    bool          // whether the scan sets the fields itself
	into    reflect.Value // the struct whose fields it sets
	decimal uint64        // the last integer, without its sign

	kept    *scratch // what is wanted of src[:dropped]; nil where nothing was left out
	dropped int
}

// notPlain is the place behind what is not of the plain form.
const notPlain = -1

// document goes over the whole body and says whether it is plain.
func (s *scan) document(sh *shape) bool {
	s.clean = ascii.ValidPrint(s.src) && bytes.IndexByte(s.src, '\\') < 0
	i := s.value(sh, s.space(0))
	return i >= 0 && s.space(i) == len(s.src) && (!s.wide || utf8.Valid(s.src))
}

// wanted is the body without what was left out. It is valid until free.
func (s *scan) wanted() []byte {
	if s.kept == nil {
		return s.src
	}
	s.kept.b = append(s.kept.b, s.src[s.dropped:]...)
	return s.kept.b
}

// drop leaves out src[from:to], which is behind everything that was left out before.
func (s *scan) drop(from, to int) {
	k := s.kept
	if k == nil {
		k, _ = scratches.Get().(*scratch)
		k.b = k.b[:0]
		s.kept = k
	}
	k.b = append(k.b, s.src[s.dropped:from]...)
	s.dropped = to
}

// free gives back what wanted returned.
func (s *scan) free() {
	if s.kept == nil {
		return
	}
	if cap(s.kept.b) <= maxScratch {
		scratches.Put(s.kept)
	}
	s.kept = nil
}

// at is the byte at a place, zero behind the end, where no plain body has one.
func (s *scan) at(i int) byte {
	if uint(i) < uint(len(s.src)) {
		return s.src[i]
	}
	return 0
}

// space goes over white space.
func (s *scan) space(i int) int {
	for {
		switch s.at(i) {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
}

// value goes over a value of a shape, or of any for nil.
func (s *scan) value(sh *shape, i int) int {
	if sh == nil {
		return s.skip(i)
	}
	switch sh.kind {
	case text:
		return s.text(i)
	case boolean:
		if s.at(i) == 't' {
			return s.literal("true", i)
		}
		return s.literal("false", i)
	case signed:
		if s.at(i) == '-' {
			i++
		}
		return s.integer(i)
	case unsigned:
		return s.integer(i)
	case float:
		return s.number(i)
	case object:
		return s.object(sh, i)
	case array:
		return s.array(sh.element, i)
	case mapping:
		return s.mapping(sh.element, i)
	default:
		return notPlain
	}
}

// skip goes over a value of any shape.
func (s *scan) skip(i int) int {
	switch s.at(i) {
	case '"':
		return s.text(i)
	case '{':
		return s.mapping(nil, i)
	case '[':
		return s.array(nil, i)
	case 't':
		return s.literal("true", i)
	case 'f':
		return s.literal("false", i)
	case 'n':
		return s.literal("null", i)
	default:
		return s.number(i)
	}
}

func (s *scan) literal(word string, i int) int {
	if len(s.src)-i < len(word) || string(s.src[i:i+len(word)]) != word {
		return notPlain
	}
	return i + len(word)
}

// array goes over an array whose elements have a shape.
func (s *scan) array(sh *shape, i int) int {
	if s.at(i) != '[' || !s.deeper() {
		return notPlain
	}
	if i = s.space(i + 1); s.at(i) == ']' {
		return s.closed(i)
	}
	for {
		if i = s.value(sh, i); i < 0 {
			return notPlain
		}
		i = s.space(i)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case ']':
			return s.closed(i)
		default:
			return notPlain
		}
	}
}

// mapping goes over an object with any names, whose values have a shape.
func (s *scan) mapping(sh *shape, i int) int {
	if s.at(i) != '{' || !s.deeper() {
		return notPlain
	}
	if i = s.space(i + 1); s.at(i) == '}' {
		return s.closed(i)
	}
	for {
		if i = s.colon(s.text(i)); i < 0 {
			return notPlain
		}
		if i = s.value(sh, i); i < 0 {
			return notPlain
		}
		i = s.space(i)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			return s.closed(i)
		default:
			return notPlain
		}
	}
}

// colon goes from behind a name to the value.
func (s *scan) colon(i int) int {
	if i < 0 {
		return notPlain
	}
	if s.at(i) != ':' {
		if i = s.space(i); s.at(i) != ':' {
			return notPlain
		}
	}
	if i++; s.at(i) <= ' ' {
		i = s.space(i)
	}
	return i
}

// deeper begins an object or an array, and says whether it is not too deep.
func (s *scan) deeper() bool {
	s.depth++
	return s.depth <= maxDepth
}

// closed ends an object or an array with the byte at i.
func (s *scan) closed(i int) int {
	s.depth--
	return i + 1
}
