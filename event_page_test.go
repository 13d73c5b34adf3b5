package wherry

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/internal/assert"
)

// everyEvent has one of each type. A type that is missing here is found by the test below.
var everyEvent = []Event{
	&Started{}, &Stopped{}, &Handled{}, &Retried{}, &Deferred{}, &DeadLettered{}, &Dropped{}, &Released{}, &MoveBlocked{}, &SettleFailed{},
	&ExtendFailed{}, &CloseFailed{}, &HoldLost{}, &HoldBack{},
	&Committed{}, &CommitFailed{}, &BrokerAway{}, &BrokerBack{}, &Scaled{}, &WorkerLost{}, &WorkerBack{}, &Overran{}, &Panicked{}, &Stalled{},
	&Recovered{}, &Paused{}, &Resumed{}, &Revoked{}, &Abandoned{},
}

// eventTypes are the names of the types that embed Origin, in the order of the file.
func eventTypes(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, parser.SkipObjectResolution)
	assert.NoError(t, err)
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok && len(s.Fields.List) > 0 {
			if id, ok := s.Fields.List[0].Type.(*ast.Ident); ok && id.Name == "Origin" && len(s.Fields.List[0].Names) == 0 {
				names = append(names, spec.Name.Name)
			}
		}
		return true
	})
	return names
}

// The page of the events has each of them, with its fields, its level and its text.
func TestEventPageIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/events.md")
	assert.NoError(t, err)
	rows := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 5 && strings.HasPrefix(cells[0], "| `") {
			rows[strings.Trim(cells[0], "| `")] = cells
		}
	}
	have := map[string]Event{}
	for _, e := range everyEvent {
		have[reflect.TypeOf(e).Elem().Name()] = e
	}
	types := eventTypes(t)
	assert.Equal(t, len(have), len(types))
	assert.Equal(t, len(rows), len(types))
	code := regexp.MustCompile("`([A-Za-z]+)`")
	for _, name := range types {
		e, cells := have[name], rows[name]
		if e == nil || cells == nil {
			t.Errorf("event %s: in this test %t, on the page %t", name, e != nil, cells != nil)
			continue
		}
		var fields, named []string
		for f := range reflect.TypeOf(e).Elem().Fields() {
			if !f.Anonymous {
				fields = append(fields, f.Name)
			}
		}
		for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
			named = append(named, m[1])
		}
		assert.Equal(t, named, fields)
		assert.Equal(t, strings.Trim(strings.FieldsFunc(cells[3], func(r rune) bool { return r == ',' || r == ';' })[0], " "),
			strings.ToLower(e.level().String()))
		assert.Equal(t, strings.TrimSuffix(cells[4], " |"), e.text())
		if f := reflect.ValueOf(e).Elem().FieldByName("Err"); f.IsValid() { // the only thing that a level may depend on
			f.Set(reflect.ValueOf(errors.New("bad")))
			assert.True(t, strings.Contains(cells[3], strings.ToLower(e.level().String())), name+": its level with an error")
			f.SetZero() // or the next run of the test has it
		}
	}
}
