package fastjson

import "github.com/segmentio/asm/ascii"

// object goes over an object whose members are fields of a struct, and leaves out those that are none.
func (s *scan) object(sh *shape, i int) int {
	src := s.src
	if s.at(i) != '{' || !s.deeper() {
		return notPlain
	}
	if i = s.space(i + 1); s.at(i) == '}' {
		return s.closed(i)
	}
	var (
		seen   uint64 // fields that were there
		guess  int    // the field that comes next when members come in the order of the struct
		begin  = i    // where this member begins, with the comma before it once a member was kept
		unused = -1   // where members begin that are no fields and were not yet left out, less than zero for none
		fields = sh.fields
	)
	for {
		f := guess
		if f < len(fields) && startsWith(src, i, fields[f].token) {
			i += len(fields[f].token)
		} else if f, i = s.name(sh, i); i < 0 {
			return notPlain
		}
		if f < 0 {
			if !s.flat && unused < 0 {
				unused = begin
			}
			if s.at(i) == '"' {
				i = s.text(i)
			} else {
				i = s.skip(s.space(i))
			}
		} else {
			if unused >= 0 {
				s.drop(unused, begin)
				unused = -1
			}
			// A second member of a name is merged into the first, by rules of its own.
			if seen&(1<<(f&63)) != 0 {
				return notPlain
			}
			seen |= 1 << (f & 63)
			guess = f + 1
			i = s.field(&fields[f], i)
		}
		if i < 0 {
			return notPlain
		}
		end := i
		if s.at(i) <= ' ' {
			i = s.space(i)
		}
		switch s.at(i) {
		case ',':
			begin = i
			if i++; s.at(i) <= ' ' {
				i = s.space(i)
			}
			if seen == 0 {
				begin = i
			}
		case '}':
			if unused >= 0 {
				s.drop(unused, end)
			}
			return s.closed(i)
		default:
			return notPlain
		}
	}
}

// field goes over the value of a field, from behind the colon on.
func (s *scan) field(f *field, i int) int {
	if s.at(i) <= ' ' {
		i = s.space(i)
	}
	end := s.value(f.shape, i)
	if end >= 0 && s.flat && !s.set(f, s.src[i:end]) {
		return notPlain
	}
	return end
}

// startsWith says whether token, which is short, stands at a place.
func startsWith(src []byte, i int, token string) bool {
	return len(src)-i >= len(token) && string(src[i:i+len(token)]) == token
}

// name goes over the name of a member and the colon. It returns the field of that name, less than zero for none; the place
// is notPlain also for a name that encoding/json would take for a field's.
func (s *scan) name(sh *shape, i int) (f, value int) {
	src := s.src
	end := s.text(i)
	if end < 0 || !s.clean && !ascii.Valid(src[i:end]) {
		return 0, notPlain
	}
	// What follows the quote is the first letter, or the other quote of an empty name.
	f = -1
	if sh.letters&(1<<(src[i+1]&31)) != 0 {
		var alike bool
		if f, alike = sh.find(src[i+1 : end-1]); alike {
			return 0, notPlain
		}
	}
	if end < len(src) && src[end] == ':' {
		return f, end + 1
	}
	if end = s.space(end); s.at(end) != ':' {
		return 0, notPlain
	}
	return f, end + 1
}

// find returns the field of a name, or less than zero. alike is a name that is no field's and that encoding/json would
// take for one, since it does not mind the case.
func (sh *shape) find(name []byte) (f int, alike bool) {
	for f := range sh.fields {
		own := sh.fields[f].name
		if own == string(name) {
			return f, false
		}
		if len(own) == len(name) && equalFold(own, name) {
			alike = true
		}
	}
	return -1, alike
}

// equalFold compares ASCII of the same length without regard to case.
func equalFold(a string, b []byte) bool {
	for i := range b {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
