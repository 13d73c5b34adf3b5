package document

import (
	"strings"
	"testing"
)

// TestWrongDigit changes one digit of every number of documents in turn, one document for each kind of row.
func TestWrongDigit(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]*Part{MatrixPart: sampleMatrix(), CodePart: sampleCode(), LeversPart: sampleLevers()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := New(sampleHost())
			merge(t, d, "mem", name, part)
			wrongDigits(t, encoded(t, d))
		})
	}
}

func wrongDigits(t *testing.T, data []byte) {
	t.Helper()
	if _, err := Decode(data); err != nil {
		t.Fatalf("the sample is refused:\n%v", err)
	}
	root, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, leaf := range root.leaves() {
		if leaf.kind != number {
			continue
		}
		n++
		was := leaf.text
		leaf.text = otherDigit(was, i)
		wrong := printed(root)
		leaf.text = was
		if wrong == string(data) {
			t.Fatalf("%s was not changed", leaf.path)
		}
		_, err := Decode([]byte(wrong))
		wantFault(t, err, leaf.path)
	}
	if n < 40 {
		t.Errorf("%d numbers were changed, want all of the sample", n)
	}
}

func printed(n *node) string {
	var b strings.Builder
	n.print(&b, "", 0)
	b.WriteByte('\n')
	return b.String()
}

// otherDigit changes one digit of a number: a different one for a different seed.
func otherDigit(s string, seed int) string {
	digits := make([]int, 0, len(s))
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			digits = append(digits, i)
		}
	}
	at := digits[seed%len(digits)]
	b := []byte(s)
	b[at] = '0' + (b[at]-'0'+1+byte(seed%9))%10
	return string(b)
}
