package document

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A field is one of a struct as JSON has it, those of embedded structs included.
type field struct {
	name     string
	index    []int
	optional bool
}

// fields are those of a struct type, in their order.
func fields(t reflect.Type) []field {
	var all []field
	for f := range t.Fields() {
		if f.Anonymous {
			for _, inner := range fields(f.Type) {
				inner.index = append(slices.Clone(f.Index), inner.index...)
				all = append(all, inner)
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, field{name, f.Index, options == "omitempty"})
	}
	return all
}

// assign sets v to what n says. It notes every value that does not fit.
func assign(n *node, v reflect.Value, faults *Faults) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		assign(n, v.Elem(), faults)
	case reflect.Struct:
		if n.is(object, faults) {
			assignStruct(n, v, faults)
		}
	case reflect.Slice:
		if n.is(array, faults) {
			v.Set(reflect.MakeSlice(v.Type(), len(n.members), len(n.members)))
			for i, m := range n.members {
				assign(m, v.Index(i), faults)
			}
		}
	case reflect.Map:
		if n.is(object, faults) {
			v.Set(reflect.MakeMap(v.Type()))
			for i, m := range n.members {
				value := reflect.New(v.Type().Elem()).Elem()
				assign(m, value, faults)
				v.SetMapIndex(reflect.ValueOf(n.names[i]), value)
			}
		}
	case reflect.String:
		if n.is(text, faults) {
			v.SetString(n.text)
		}
	case reflect.Bool:
		if n.is(boolean, faults) {
			v.SetBool(n.text == "true")
		}
	default:
		if n.is(number, faults) {
			assignNumber(n, v, faults)
		}
	}
}

func (n *node) is(want kind, faults *Faults) bool {
	if n.kind == want {
		return true
	}
	faults.add(n.path, "is a %s, want a %s", n.kind, want)
	return false
}

func assignStruct(n *node, v reflect.Value, faults *Faults) {
	known := fields(v.Type())
	for i, name := range n.names {
		if !slices.ContainsFunc(known, func(f field) bool { return f.name == name }) {
			faults.add(n.members[i].path, "is no field of schema %d", Schema)
		}
	}
	for _, f := range known {
		m := n.member(f.name)
		switch {
		case m != nil:
			assign(m, v.FieldByIndex(f.index), faults)
		case !f.optional:
			faults.add(join(n.path, f.name), "is missing")
		}
	}
}

func assignNumber(n *node, v reflect.Value, faults *Faults) {
	if v.CanInt() {
		whole, err := strconv.ParseInt(n.text, 10, v.Type().Bits())
		if err != nil {
			faults.add(n.path, "is %s, want a whole number of %d bits", n.text, v.Type().Bits())
		}
		v.SetInt(whole)
		return
	}
	real, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		faults.add(n.path, "is %s, want a number of 64 bits", n.text)
	}
	v.SetFloat(real)
}
