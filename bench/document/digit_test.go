package document

import (
	"bytes"
	"strings"
	"testing"
)

// TestWrongDigit changes one digit of every number of a document in turn.
func TestWrongDigit(t *testing.T) {
	t.Parallel()
	data := encoded(t, sample(t))
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
		var b strings.Builder
		root.print(&b, "", 0)
		leaf.text = was
		if bytes.Equal([]byte(b.String()), data) {
			t.Fatalf("%s was not changed", leaf.path)
		}
		_, err := Decode([]byte(b.String()))
		wantFault(t, err, leaf.path)
	}
	if n < 400 {
		t.Errorf("%d numbers were changed, want all of the sample", n)
	}
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
