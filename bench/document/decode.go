package document

import (
	"reflect"
	"slices"
	"strconv"
)

// assign sets v to what n says. It notes every value that does not fit.
func assign(n *node, v reflect.Value, found *faults) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		assign(n, v.Elem(), found)
	case reflect.Struct:
		if n.is(object, found) {
			assignStruct(n, v, found)
		}
	case reflect.Slice:
		if n.is(array, found) {
			v.Set(reflect.MakeSlice(v.Type(), len(n.members), len(n.members)))
			for i, m := range n.members {
				assign(m, v.Index(i), found)
			}
		}
	case reflect.Map:
		if n.is(object, found) {
			v.Set(reflect.MakeMap(v.Type()))
			for i, m := range n.members {
				value := reflect.New(v.Type().Elem()).Elem()
				assign(m, value, found)
				v.SetMapIndex(reflect.ValueOf(n.names[i]), value)
			}
		}
	case reflect.String:
		if n.is(text, found) {
			v.SetString(n.text)
		}
	case reflect.Bool:
		if n.is(boolean, found) {
			v.SetBool(n.text == "true")
		}
	default:
		if n.is(number, found) {
			assignNumber(n, v, found)
		}
	}
}

func (n *node) is(want kind, found *faults) bool {
	if n.kind == want {
		return true
	}
	found.addf(n.path, "is %s, want %s", n.kind, want)
	return false
}

func assignStruct(n *node, v reflect.Value, found *faults) {
	known := fields(v.Type())
	for i, name := range n.names {
		if !slices.ContainsFunc(known, func(f field) bool { return f.name == name }) {
			found.addf(n.members[i].path, "is no field of schema %d", Schema)
		}
	}
	for _, f := range known {
		m := n.member(f.name)
		switch {
		case m != nil:
			assign(m, v.FieldByIndex(f.index), found)
		case !f.optional:
			found.addf(join(n.path, f.name), "is missing")
		}
	}
}

func assignNumber(n *node, v reflect.Value, found *faults) {
	if v.CanInt() {
		whole, err := strconv.ParseInt(n.text, 10, v.Type().Bits())
		if err != nil {
			found.addf(n.path, "is %s, want a whole number of %d bits", n.text, v.Type().Bits())
		}
		v.SetInt(whole)
		return
	}
	decimal, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		found.addf(n.path, "is %s, want a number of 64 bits", n.text)
	}
	v.SetFloat(decimal)
}
