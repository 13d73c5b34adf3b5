// Package terminal writes results documents as tables for people.
package terminal

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

// A grid is a table: its first columns are texts, the others numbers, which stand on the right.
type grid struct {
	headers []string
	texts   int
	rows    [][]string
}

// write leaves out columns in which no row has anything.
func (g *grid) write(w io.Writer) {
	headers, rows, texts := g.used()
	t := table.New().
		Border(lipgloss.NormalBorder()).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).
		Headers(headers...).
		Rows(rows...).
		StyleFunc(func(_, column int) lipgloss.Style {
			style := lipgloss.NewStyle().PaddingRight(1).PaddingLeft(1)
			if column >= texts {
				return style.Align(lipgloss.Right)
			}
			return style
		})
	for line := range strings.SplitSeq(t.String(), "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

func (g *grid) used() (headers []string, rows [][]string, texts int) {
	rows = make([][]string, len(g.rows))
	for column, header := range g.headers {
		empty := true
		for _, row := range g.rows {
			empty = empty && row[column] == ""
		}
		if empty {
			continue
		}
		headers = append(headers, header)
		for i, row := range g.rows {
			rows[i] = append(rows[i], row[column])
		}
		if column < g.texts {
			texts++
		}
	}
	return headers, rows, texts
}
