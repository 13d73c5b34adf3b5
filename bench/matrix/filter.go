package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is something of a spec that a filter can name.
type field struct {
	name  string
	value func(s *Spec) string
}

var fields = []field{
	{"subject", func(s *Spec) string { return s.Subject }},
	{"method", func(s *Spec) string { return string(s.Method) }},
	{"flow", func(s *Spec) string { return s.Flow }},
	{"variant", func(s *Spec) string { return strings.ReplaceAll(s.Variant, " ", "-") }},
	{"payload", func(s *Spec) string { return strconv.Itoa(s.Payload) }},
	{"consumers", func(s *Spec) string { return strconv.Itoa(s.Consumers) }},
	{"workers", func(s *Spec) string { return strconv.Itoa(s.Workers) }},
	{"prefetch", func(s *Spec) string { return strconv.Itoa(s.Prefetch) }},
	{"handler", func(s *Spec) string { return s.Handler }},
	{"codec", func(s *Spec) string { return s.Codec }},
	{"rate", func(s *Spec) string { return strconv.Itoa(s.Rate) }},
	{"procs", func(s *Spec) string { return strconv.Itoa(s.Procs) }},
}

// Only returns the specs that a filter such as "flow=parallel payload=64 consumers=1,2" names: those that have one of the
// values of each field. A payload may be written as "1KiB". An empty filter names all. A field or value that no spec has is an error that lists those there
// are, and so is a filter that leaves nothing.
func Only(specs []Spec, filter string) ([]Spec, error) {
	left := slices.Clone(specs)
	for term := range strings.FieldsSeq(filter) {
		name, list, ok := strings.Cut(term, "=")
		if !ok || list == "" {
			return nil, fmt.Errorf("only: %q is not of the form field=value or field=value,value", term)
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("only: there is no field %q; the fields are %s", name, fieldNames())
		}
		f := fields[i]
		values := strings.Split(list, ",")
		for i, v := range values {
			if name == "payload" {
				v = bytes(v)
				values[i] = v
			}
			if there := f.values(specs); !slices.Contains(there, v) {
				return nil, fmt.Errorf("only: no cell has %s=%s; the values are %s", name, v, strings.Join(there, ", "))
			}
		}
		left = slices.DeleteFunc(left, func(s Spec) bool { return !slices.Contains(values, f.value(&s)) })
	}
	if len(left) == 0 {
		return nil, fmt.Errorf("only: no cell is %q: each value exists, and not together", filter)
	}
	return left, nil
}

// bytes is a size as cells have it: "1024" of "1KiB". What is no size stays as it is.
func bytes(size string) string {
	for _, unit := range []struct {
		name string
		of   int
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"B", 1}} {
		if digits, ok := strings.CutSuffix(size, unit.name); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				return strconv.Itoa(n * unit.of)
			}
		}
	}
	return size
}

// values are those that specs have, in the order of the specs, without the empty one.
func (f field) values(specs []Spec) []string {
	var all []string
	for i := range specs {
		if v := f.value(&specs[i]); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func fieldNames() string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
