package fastjson

import (
	"encoding"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A kind is what a scan expects of a value.
type kind uint8

const (
	text kind = iota
	boolean
	signed
	unsigned
	float
	object
	array
	mapping
)

// A shape is a type as the scan sees it.
type shape struct {
	kind    kind
	element *shape  // of an array or a mapping
	fields  []field // of an object, in the order of the struct
	flat    bool    // whether an object's fields are all texts, booleans and numbers, and no pointers to them
	letters uint32  // bit c&31 is set when a field's name begins with c, in either case
}

type field struct {
	name  string
	token string // the name in quotes, with the colon
	index int    // in the struct
	shape *shape
}

// maxFields is how many fields a struct may have: the scan notes in a word which it has seen.
const maxFields = 64

// shapeOf returns the shape of a type, or why the library cannot be trusted with it.
func shapeOf(t reflect.Type) (*shape, error) {
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Map:
		return shapeWithin(t, nil)
	default:
		return nil, fmt.Errorf("%v is no struct, slice or map", t)
	}
}

// shapeWithin is shapeOf for a type that stands within others.
func shapeWithin(t reflect.Type, outer []reflect.Type) (*shape, error) {
	if slices.Contains(outer, t) {
		return nil, fmt.Errorf("%v contains itself", t)
	}
	outer = append(slices.Clip(outer), t)
	if method := ownMethod(t); method != "" {
		return nil, fmt.Errorf("%v has a method %s of its own", t, method)
	}
	switch t.Kind() {
	case reflect.Pointer:
		// A pointer is written as what it points to. A null is not of the plain form.
		return shapeWithin(t.Elem(), outer)
	case reflect.Struct:
		return shapeOfStruct(t, outer)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil, fmt.Errorf("%v is written as base64", t)
		}
		return shapeOfElement(array, t, outer)
	case reflect.Map:
		if t.Key().Kind() != reflect.String || ownMethod(t.Key()) != "" {
			return nil, fmt.Errorf("%v has keys that are not plain strings", t)
		}
		return shapeOfElement(mapping, t, outer)
	default:
		k, err := kindOf(t)
		return &shape{kind: k}, err
	}
}

func shapeOfElement(k kind, t reflect.Type, outer []reflect.Type) (*shape, error) {
	element, err := shapeWithin(t.Elem(), outer)
	if err != nil {
		return nil, err
	}
	return &shape{kind: k, element: element}, nil
}

func kindOf(t reflect.Type) (kind, error) {
	if p := t.PkgPath(); p == "encoding/json" || p == "time" {
		return 0, fmt.Errorf("%v is written in a way of its own", t)
	}
	switch t.Kind() {
	case reflect.String:
		return text, nil
	case reflect.Bool:
		return boolean, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return signed, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return unsigned, nil
	case reflect.Float32, reflect.Float64:
		return float, nil
	default:
		return 0, fmt.Errorf("%v is not of a plain kind", t)
	}
}

// ownMethods are the interfaces by which a type has a say in its JSON.
var ownMethods = []reflect.Type{
	reflect.TypeFor[stdjson.Marshaler](), reflect.TypeFor[stdjson.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
}

// ownMethod names a method by which t, or a pointer to it, has a say in its JSON.
func ownMethod(t reflect.Type) string {
	for _, i := range ownMethods {
		if t.Implements(i) || reflect.PointerTo(t).Implements(i) {
			return i.Method(0).Name
		}
	}
	return ""
}

func shapeOfStruct(t reflect.Type, outer []reflect.Type) (*shape, error) {
	s := &shape{kind: object, flat: true}
	for f := range t.Fields() {
		switch {
		case f.Anonymous:
			return nil, fmt.Errorf("%v embeds %v", t, f.Type)
		case !f.IsExported():
			continue
		}
		name, err := nameOf(f)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
		if name == "" {
			continue
		}
		for _, other := range s.fields {
			if strings.EqualFold(other.name, name) {
				return nil, fmt.Errorf("%v has fields that are alike but for case: %q and %q", t, other.name, name)
			}
		}
		inner, err := shapeWithin(f.Type, outer)
		if err != nil {
			return nil, err
		}
		s.fields = append(s.fields, field{name: name, token: `"` + name + `":`, index: f.Index[0], shape: inner})
		s.flat = s.flat && inner.kind <= float && f.Type.Kind() != reflect.Pointer
		s.letters |= 1 << (name[0] & 31)
	}
	if len(s.fields) > maxFields {
		return nil, fmt.Errorf("%v has more than %d fields", t, maxFields)
	}
	return s, nil
}

// nameOf is the name of a field in JSON, empty for one that is left out.
func nameOf(f reflect.StructField) (string, error) {
	tag := f.Tag.Get("json")
	if tag == "-" {
		return "", nil
	}
	name, options, _ := strings.Cut(tag, ",")
	if options != "" && options != "omitempty" {
		return "", fmt.Errorf("field %s has the option %q", f.Name, options)
	}
	if name == "" {
		name = f.Name
	}
	for i := range len(name) {
		if !plainInName(name[i]) {
			return "", errors.New("field " + f.Name + " has a name that is more than letters, digits, hyphens, dots and underscores")
		}
	}
	if name == "-" {
		return "", fmt.Errorf("field %s is called %q", f.Name, name)
	}
	return name, nil
}

func plainInName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}
