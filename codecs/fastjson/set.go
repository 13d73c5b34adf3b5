package fastjson

import "strconv"

// set sets a field to a value that was gone over, and says whether it fits.
func (s *scan) set(f *field, value []byte) bool {
	v := s.into.Field(f.index)
	switch f.shape.kind {
	case text:
		v.SetString(string(value[1 : len(value)-1]))
	case boolean:
		v.SetBool(value[0] == 't')
	case signed:
		n := int64(s.decimal)
		if value[0] == '-' {
			n = -n
		}
		if v.OverflowInt(n) {
			return false
		}
		v.SetInt(n)
	case unsigned:
		if v.OverflowUint(s.decimal) {
			return false
		}
		v.SetUint(s.decimal)
	case float:
		n, err := strconv.ParseFloat(string(value), v.Type().Bits())
		if err != nil || v.OverflowFloat(n) {
			return false
		}
		v.SetFloat(n)
	default:
		return false
	}
	return true
}
