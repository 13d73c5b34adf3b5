package fastjson

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
)

// Eight bytes in a word: in each of them the lowest bit, and the highest.
const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// shortText is about the length in which the end of a string is looked for before vector instructions do it.
const shortText = 32

// text goes over a string without escapes, with its quotes.
func (s *scan) text(i int) int {
	src := s.src
	if uint(i) >= uint(len(src)) || src[i] != '"' {
		return notPlain
	}
	i++
	if !s.clean {
		return s.mixedText(i)
	}
	// Of ASCII, a byte has its highest bit set here if it is the quote. In bytes after the first such one the bit may be
	// set by the borrow.
	for limit := min(i+shortText, len(src)-8); i <= limit; i += 8 {
		if m := ((binary.LittleEndian.Uint64(src[i:i+8]) ^ lows*'"') - lows) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)/8 + 1
		}
	}
	return s.longText(i)
}

// longText is text from within a string on.
func (s *scan) longText(i int) int {
	n := bytes.IndexByte(s.src[i:], '"')
	if n < 0 {
		return notPlain
	}
	return i + n + 1
}

// mixedText is text from behind the quote on, in a body that is not clean.
func (s *scan) mixedText(i int) int {
	src := s.src
	for len(src)-i >= 8 {
		// Bits are set in the first byte that is a quote, a backslash, a control character or beyond ASCII, and perhaps in
		// later ones, by the borrow of a subtraction.
		w := binary.LittleEndian.Uint64(src[i:])
		if m := (((w ^ lows*'"') - lows) | ((w ^ lows*'\\') - lows) | (w - lows*' ') | w) & highs; m != 0 {
			i += bits.TrailingZeros64(m) / 8
			switch c := src[i]; {
			case c == '"':
				return i + 1
			case c < 0x80:
				return notPlain
			}
			s.wide = true
			i++
			continue
		}
		i += 8
	}
	for ; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			return i + 1
		case c == '\\' || c < ' ':
			return notPlain
		case c >= 0x80:
			s.wide = true
		}
	}
	return notPlain
}

// maxDigits is the number of digits of which every integer is a uint64, so that it can be compared with an int64. A time in
// nanoseconds has as many.
const maxDigits = 19

// integer goes over an integer without a sign that surely is an int64, and notes it.
func (s *scan) integer(i int) int {
	src := s.src
	start := i
	decimal := uint64(0)
	for uint(i) < uint(len(src)) {
		digit := src[i] - '0'
		if digit > 9 {
			break
		}
		decimal = decimal*10 + uint64(digit)
		i++
	}
	s.decimal = decimal
	n := i - start
	if n > maxDigits || decimal > math.MaxInt64 || n == 0 || src[start] == '0' && n > 1 {
		return notPlain
	}
	if uint(i) < uint(len(src)) && (src[i] == '.' || src[i]|0x20 == 'e') {
		return notPlain
	}
	return i
}

// digits goes over the digits of an integer, which do not begin with a zero unless that is all.
func (s *scan) digits(i int) int {
	end := s.figures(i)
	if end == i || end > i+1 && s.src[i] == '0' {
		return notPlain
	}
	return end
}

// figures goes over any digits, or none.
func (s *scan) figures(i int) int {
	for uint(i) < uint(len(s.src)) && s.src[i]-'0' <= 9 {
		i++
	}
	return i
}

// number goes over any number.
func (s *scan) number(i int) int {
	if s.at(i) == '-' {
		i++
	}
	if i = s.digits(i); i < 0 {
		return notPlain
	}
	if s.at(i) == '.' {
		end := s.figures(i + 1)
		if end == i+1 {
			return notPlain
		}
		i = end
	}
	if s.at(i)|0x20 == 'e' {
		i++
		if c := s.at(i); c == '+' || c == '-' {
			i++
		}
		end := s.figures(i)
		if end == i {
			return notPlain
		}
		i = end
	}
	return i
}
