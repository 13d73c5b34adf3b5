// Package page renders a results document as the pages of docs/benchmarks. Every figure on them comes from the document: the
// same document gives the same bytes.
package page

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/rendered"
)

// A File is a page, as Markdown.
type File = rendered.File

// Folder is where the pages are kept, as a path from the root of the repository, and Source the document that they are made
// from. The charts are in a folder of their own below the pages.
const (
	Folder = "docs/benchmarks"
	Charts = "charts"
	Source = "bench/results/results.json"
)

// mark is the first line of every page.
const mark = "<!-- Made by `wherry bench page`. Do not edit: change the document or the program. -->\n\n"

// Made reports whether a text is that of a page which was made here.
func Made(text []byte) bool { return bytes.HasPrefix(text, []byte(mark)) }

// Render makes the pages of a document, which must have been read by [document.ReadFile] or derived. A nil document gives
// pages that say that there is none yet. The pages name [Source] as the file that they are made from, unless the document is a
// quick run, or was interrupted: that is none of the repository's.
func Render(d *document.Document) ([]File, error) { return render(d, Source) }

func render(d *document.Document, source string) ([]File, error) {
	if d == nil {
		return pages(&content{absent: "No results document is committed yet, so there is no figure on this page."})
	}
	return pages(&content{doc: d, source: source})
}

// Failed makes the pages of a document that cannot be read. They show the error where figures would be.
func Failed(err error) ([]File, error) {
	return pages(&content{absent: "The results document cannot be read, so there is no figure on this page. What is wrong with it:\n\n" +
		"```text\n" + strings.TrimSpace(err.Error()) + "\n```"})
}

// FromFile makes the pages of the document in a file, which they name: those of [Render] if there is none, and those of [Failed], with the
// error, if it cannot be read.
func FromFile(name string) ([]File, error) {
	d, err := document.ReadFile(name)
	switch {
	case err == nil && strings.HasSuffix(filepath.ToSlash(name), Source):
		return Render(d)
	case err == nil:
		return render(d, filepath.Base(name))
	case errors.Is(err, fs.ErrNotExist):
		return Render(nil)
	}
	files, failed := Failed(err)
	return files, errors.Join(err, failed)
}

// content is what the pages show: a document, or the reason why there is none.
type content struct {
	doc    *document.Document
	source string // the file that the document is in
	absent string
}

// named is the file that the document is in, with a link to the one of the repository.
func (c *content) named() string {
	quick, cut := unfit(c.doc)
	switch {
	case c.source != Source:
		return "`" + c.source + "`, and not the one of the repository"
	case quick || cut:
		return "not the one of the repository"
	default:
		return "[" + Source + "](../../" + Source + ")"
	}
}

// warning stands at the head of every page whose document is no result.
func (c *content) warning() string {
	if c.doc == nil {
		return ""
	}
	switch quick, cut := unfit(c.doc); {
	case quick:
		return "> **From a quick run, whose figures are no results.**\n\n"
	case cut:
		return "> **From a run that was interrupted: not all of its cells were measured.**\n\n"
	default:
		return ""
	}
}

// pages are all of them, in the order in which they are linked.
func pages(c *content) ([]File, error) {
	var files []File
	for _, p := range []struct {
		name string
		make func(*content) (string, error)
	}{
		{"README.md", results},
		{"reach.md", reached},
		{"levers.md", levers},
		{"rows.md", rows},
		{"method.md", prose("method.md.tmpl")},
		{"numbers.md", prose("numbers.md.tmpl")},
		{"runbook.md", prose("runbook.md.tmpl")},
	} {
		text, err := p.make(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		files = append(files, File{Name: p.name, Data: []byte(mark + c.warning() + strings.TrimSpace(text) + "\n")})
	}
	return files, nil
}
