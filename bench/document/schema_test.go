package document

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "schema.json"

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func bySchema(t *testing.T, schema *jsonschema.Schema, data []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

func TestSchemaAccepts(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for name, d := range map[string]*Document{"empty": New(sampleHost()), "sample": sample(t)} {
		if err := bySchema(t, schema, encoded(t, d)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRefuses replaces texts in the sample, which then neither the schema nor Decode accepts.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	good := string(encoded(t, sample(t)))
	for _, test := range []struct{ old, wrong string }{
		{`"schema": 1`, `"schema": 2`},
		{`"cpu": "Example CPU 9000"`, `"cpu": "unknown"`},
		{`"cpu": "Example CPU 9000"`, `"cpu": ""`},
		{`"cpu": "Example CPU 9000"`, `"processor": "Example CPU 9000"`},
		{`"go": "go1.26.8"`, `"go": "unknown"`},
		{`"date": "2026-11-30T10:15:00Z"`, `"date": "yesterday"`},
		{`"gomaxprocs": 2`, `"gomaxprocs": "2"`},
		{`"method": "drain"`, `"method": "guess"`},
		{`"code": "window too short"`, `"code": "no idea"`},
		{`"lost": 0`, `"lost": 1`},
		{`"messages": 1999968`, `"messages": 0`},
		{`"messages": 1999968`, `"messages": 1.5`},
		{`"rows": [`, `"rows": ["none", `},
		{`"not_shown": {"code": "window too short", "text": "0.41 s for 2,000,000 messages"},`, ``},
		{`"busiest_share": 0.2613`, `"busiest_share": 1.2613`},
		{`"sustained": false`, `"sustained": true`},
		{`"sustained": true`, `"sustained": false`},
		{`"method": "offered"`, `"method": "live"`},
	} {
		if !strings.Contains(good, test.old) {
			t.Errorf("the sample has no %s", test.old)
			continue
		}
		wrong := []byte(strings.Replace(good, test.old, test.wrong, 1))
		if bySchema(t, schema, wrong) == nil {
			t.Errorf("the schema accepts %s", test.wrong)
		}
		if _, err := Decode(wrong); err == nil {
			t.Errorf("Decode accepts %s", test.wrong)
		}
	}
}

// TestSchemaFields compares the fields of each type with the properties of the schema, both ways.
func TestSchemaFields(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	root, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	definitions := root.member("$defs")
	seen := map[string]bool{}
	var compare func(t *testing.T, of reflect.Type, at *node)
	compare = func(t *testing.T, of reflect.Type, at *node) {
		t.Helper()
		var names, required []string
		for _, f := range fields(of) {
			names = append(names, f.name)
			if !f.optional {
				required = append(required, f.name)
			}
			inner := of.FieldByIndex(f.index).Type
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			name := strings.ToLower(inner.Name())
			if inner.Kind() != reflect.Struct || seen[name] {
				continue
			}
			seen[name] = true
			if definition := definitions.member(name); definition == nil {
				t.Errorf("the schema has no definition of %s", inner)
			} else {
				compare(t, inner, definition)
			}
		}
		sameNames(t, of.String()+": properties", names, at.member("properties").names)
		var stated []string
		for _, m := range at.member("required").members {
			stated = append(stated, m.text)
		}
		sameNames(t, of.String()+": required", required, stated)
		if closed := at.member("additionalProperties"); closed == nil || closed.text != "false" {
			t.Errorf("%v: the schema allows other properties", of)
		}
	}
	compare(t, reflect.TypeFor[Document](), root)
	for _, name := range definitions.names {
		if !seen[name] {
			t.Errorf("the schema defines %s, which no document has", name)
		}
	}
}

func sameNames(t *testing.T, what string, have, want []string) {
	t.Helper()
	for _, name := range have {
		if !slices.Contains(want, name) {
			t.Errorf("%s: the schema lacks %s", what, name)
		}
	}
	for _, name := range want {
		if !slices.Contains(have, name) {
			t.Errorf("%s: only the schema has %s", what, name)
		}
	}
}
