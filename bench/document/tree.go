package document

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A field is one of a struct as JSON has it, those of embedded structs included.
type field struct {
	name     string
	index    []int
	optional bool
}

// fieldsOf remembers the fields of struct types.
var fieldsOf sync.Map

// fields are those of a struct type, in their order.
func fields(t reflect.Type) []field {
	if all, ok := fieldsOf.Load(t); ok {
		return all.([]field) //nolint:forcetypeassert // Only this function stores.
	}
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
	fieldsOf.Store(t, all)
	return all
}

// tree is a value as package encoding/json writes it, with the paths within it.
func tree(value any) (*node, error) { return treeOf(reflect.ValueOf(value), "") }

func treeOf(v reflect.Value, path string) (*node, error) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return &node{path: path, kind: null, text: "null"}, nil
		}
		return treeOf(v.Elem(), path)
	case reflect.Struct:
		return treeOfStruct(v, path)
	case reflect.Slice:
		return treeOfSlice(v, path)
	case reflect.Map:
		return treeOfMap(v, path)
	case reflect.String:
		return &node{path: path, kind: text, text: strings.ToValidUTF8(v.String(), "\uFFFD")}, nil
	case reflect.Bool:
		return &node{path: path, kind: boolean, text: strconv.FormatBool(v.Bool())}, nil
	case reflect.Int, reflect.Int64:
		return &node{path: path, kind: number, text: strconv.FormatInt(v.Int(), 10)}, nil
	default:
		data, err := json.Marshal(v.Interface())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return &node{path: path, kind: number, text: string(data)}, nil
	}
}

func treeOfStruct(v reflect.Value, path string) (*node, error) {
	n := &node{path: path, kind: object}
	for _, f := range fields(v.Type()) {
		value := v.FieldByIndex(f.index)
		if f.optional && empty(value) {
			continue
		}
		if err := n.append(f.name, value); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func treeOfSlice(v reflect.Value, path string) (*node, error) {
	if v.IsNil() {
		return &node{path: path, kind: null, text: "null"}, nil
	}
	n := &node{path: path, kind: array}
	for i := range v.Len() {
		member, err := treeOf(v.Index(i), index(path, i))
		if err != nil {
			return nil, err
		}
		n.members = append(n.members, member)
	}
	return n, nil
}

func treeOfMap(v reflect.Value, path string) (*node, error) {
	if v.IsNil() {
		return &node{path: path, kind: null, text: "null"}, nil
	}
	n := &node{path: path, kind: object}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	for _, key := range keys {
		if err := n.append(key.String(), v.MapIndex(key)); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// append adds a member to an object.
func (n *node) append(name string, v reflect.Value) error {
	member, err := treeOf(v, join(n.path, name))
	if err != nil {
		return err
	}
	n.names, n.members = append(n.names, name), append(n.members, member)
	return nil
}

// empty reports what omitempty omits.
func empty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}
