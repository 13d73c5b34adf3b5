// Package surface writes down what a package exports, one line per name, so that a change of the public face shows in
// a review. It leaves out values that users cannot name.
package surface

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// Lines returns the exported names of a package with their types, sorted.
func Lines(pkg *types.Package) []string {
	q := func(other *types.Package) string {
		if other == pkg {
			return ""
		}
		return other.Name()
	}
	var lines []string
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			lines = append(lines, fmt.Sprintf("const %s %s = %s", name, types.TypeString(obj.Type(), q), obj.Val().ExactString()))
		case *types.Var:
			lines = append(lines, fmt.Sprintf("var %s %s", name, types.TypeString(obj.Type(), q)))
		case *types.Func:
			lines = append(lines, "func "+name+signature(obj, q))
		case *types.TypeName:
			lines = append(lines, typeLines(obj, q)...)
		}
	}
	slices.Sort(lines)
	return lines
}

// signature writes a function's type parameters, parameters and results.
func signature(f *types.Func, q types.Qualifier) string {
	return strings.TrimPrefix(types.TypeString(f.Type(), q), "func")
}

func typeLines(obj *types.TypeName, q types.Qualifier) []string {
	name := obj.Name()
	if obj.IsAlias() {
		return []string{fmt.Sprintf("type %s = %s", name, types.TypeString(types.Unalias(obj.Type()), q))}
	}
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return []string{fmt.Sprintf("type %s %s", name, types.TypeString(obj.Type(), q))}
	}
	head := "type " + name + parameters(named, q) + " "
	var lines []string
	switch u := named.Underlying().(type) {
	case *types.Struct:
		lines = append(lines, head+"struct")
		for f := range u.Fields() {
			if f.Exported() {
				lines = append(lines, fmt.Sprintf("field %s.%s %s", name, f.Name(), types.TypeString(f.Type(), q)))
			}
		}
	case *types.Interface:
		lines = append(lines, head+interfaceHead(u))
		for m := range u.Methods() {
			if m.Exported() {
				lines = append(lines, fmt.Sprintf("method %s.%s%s", name, m.Name(), signature(m, q)))
			}
		}
	default:
		lines = append(lines, head+types.TypeString(u, q))
	}
	for m := range named.Methods() {
		if m.Exported() {
			lines = append(lines, fmt.Sprintf("method (%s) %s%s", receiver(m, named, q), m.Name(), signature(m, q)))
		}
	}
	return lines
}

// interfaceHead tells whether users can implement an interface.
func interfaceHead(u *types.Interface) string {
	for m := range u.Methods() {
		if !m.Exported() {
			return "interface, sealed"
		}
	}
	if !u.IsMethodSet() {
		return "interface, constraint"
	}
	return "interface"
}

// parameters writes a type's parameters with their constraints.
func parameters(named *types.Named, q types.Qualifier) string {
	var all []string
	for p := range named.TypeParams().TypeParams() {
		all = append(all, p.Obj().Name()+" "+types.TypeString(p.Constraint(), q))
	}
	if len(all) == 0 {
		return ""
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// receiver writes the type of a method's receiver.
func receiver(m *types.Func, named *types.Named, q types.Qualifier) string {
	recv := m.Signature().Recv()
	if recv == nil {
		return named.Obj().Name()
	}
	return types.TypeString(recv.Type(), q)
}
