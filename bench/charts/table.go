package charts

import "strings"

// A Table is numbers as text.
type Table struct {
	Head  []string
	Rows  [][]string
	Words bool // the columns are words; else those after the first are numbers
}

// Markdown writes the table, with numbers to the right. It is empty without rows.
func (t *Table) Markdown() string {
	if len(t.Rows) == 0 {
		return ""
	}
	var b strings.Builder
	writeRow(&b, t.Head)
	rule := "---:|"
	if t.Words {
		rule = "---|"
	}
	b.WriteString("|---|" + strings.Repeat(rule, len(t.Head)-1) + "\n")
	for _, row := range t.Rows {
		writeRow(&b, row)
	}
	return b.String()
}

func writeRow(b *strings.Builder, cells []string) {
	for _, cell := range cells {
		b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
	}
	b.WriteString("|\n")
}
