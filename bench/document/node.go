package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds how deep values nest. A document nests half as deep.
const maxDepth = 24

// A kind is what a value of JSON is.
type kind string

const (
	object  kind = "an object"
	array   kind = "a list"
	text    kind = "a text"
	number  kind = "a number"
	boolean kind = "true or false"
	null    kind = "null"
)

// A node is a value of JSON with the path to it.
type node struct {
	path    string
	kind    kind
	text    string   // of a scalar: a text without its quotes, a number as it stands
	names   []string // of an object, beside members
	members []*node  // of an object or a list, in their order
}

// parse reads one value, and refuses a second one, and names that stand twice.
func parse(data []byte) (*node, error) {
	p := parser{decoder: json.NewDecoder(bytes.NewReader(data)), data: data}
	p.decoder.UseNumber()
	root, err := p.value("", 0)
	if err != nil {
		p.faults.addf(p.at, "%v", err)
		return nil, p.faults.err()
	}
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("", "there is something after the end of the document")
	}
	return root, p.faults.err()
}

type parser struct {
	decoder *json.Decoder
	data    []byte
	at      string // the path of the value that is being read
	faults  faults
}

func (p *parser) token() (json.Token, error) {
	token, err := p.decoder.Token()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(p.data[:min(syntax.Offset, int64(len(p.data)))], []byte{'\n'})
		return nil, fmt.Errorf("this is no JSON, at line %d: %w", line, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the document ends too early")
	}
	return token, err
}

func (p *parser) value(path string, depth int) (*node, error) {
	p.at = path
	if depth > maxDepth {
		return nil, errors.New("values nest too deep")
	}
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return p.object(path, depth)
		}
		return p.array(path, depth)
	case string:
		return &node{path: path, kind: text, text: t}, nil
	case json.Number:
		return &node{path: path, kind: number, text: t.String()}, nil
	case bool:
		return &node{path: path, kind: boolean, text: strconv.FormatBool(t)}, nil
	default:
		return &node{path: path, kind: null, text: "null"}, nil
	}
}

func (p *parser) object(path string, depth int) (*node, error) {
	n := &node{path: path, kind: object}
	for p.decoder.More() {
		token, err := p.token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		member, err := p.value(join(path, name), depth+1)
		if err != nil {
			return nil, err
		}
		if slices.Contains(n.names, name) {
			p.faults.addf(member.path, "stands twice in its object")
			continue
		}
		n.names, n.members = append(n.names, name), append(n.members, member)
	}
	p.at = path
	_, err := p.token()
	return n, err
}

func (p *parser) array(path string, depth int) (*node, error) {
	n := &node{path: path, kind: array}
	for p.decoder.More() {
		item, err := p.value(index(path, len(n.members)), depth+1)
		if err != nil {
			return nil, err
		}
		n.members = append(n.members, item)
	}
	p.at = path
	_, err := p.token()
	return n, err
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// member is the value of that name, or nil.
func (n *node) member(name string) *node {
	if i := slices.Index(n.names, name); i >= 0 {
		return n.members[i]
	}
	return nil
}

// leaves are the scalars within a value, in their order.
func (n *node) leaves() []*node {
	if n.kind != object && n.kind != array {
		return []*node{n}
	}
	var all []*node
	for _, m := range n.members {
		all = append(all, m.leaves()...)
	}
	return all
}

// marshal is like json.Marshal, and leaves <, > and & as they are.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// width is how long a line may be before a value is spread over several.
const width = 240

// print writes a value as it is read best: on one line where it fits, a line for each member where not.
func (n *node) print(b *strings.Builder, indent string, used int) {
	flat := n.flat()
	if len(indent)+used+len(flat) <= width || len(n.members) == 0 {
		b.WriteString(flat)
		return
	}
	opening, closing := "{", "}"
	if n.kind == array {
		opening, closing = "[", "]"
	}
	b.WriteString(opening)
	deeper := indent + "  "
	for i, m := range n.members {
		b.WriteString("\n" + deeper)
		name := n.label(i)
		b.WriteString(name)
		m.print(b, deeper, len(name)+1)
		if i < len(n.members)-1 {
			b.WriteByte(',')
		}
	}
	b.WriteString("\n" + indent + closing)
}

// flat is a value on one line.
func (n *node) flat() string {
	switch n.kind {
	case text:
		return quote(n.text)
	case object, array:
		parts := make([]string, 0, len(n.members))
		for i, m := range n.members {
			parts = append(parts, n.label(i)+m.flat())
		}
		if n.kind == array {
			return "[" + strings.Join(parts, ", ") + "]"
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return n.text
	}
}

// label is what stands before a member.
func (n *node) label(i int) string {
	if n.kind == array {
		return ""
	}
	return quote(n.names[i]) + ": "
}

func quote(s string) string {
	if plain(s) {
		return `"` + s + `"`
	}
	data, err := marshal(s)
	if err != nil {
		return strconv.Quote(s) // A string always marshals.
	}
	return string(data)
}

// plain reports whether a text stands between quotes as it is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return false
		}
	}
	return true
}
