package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/page"
	"github.com/wherryhq/wherry/bench/quantity"
	"github.com/wherryhq/wherry/bench/rendered"
)

// rendering is what both commands that write files from a document are told.
type rendering struct {
	In    string `help:"The results document. Default results.json." default:"results.json" placeholder:"FILE"`
	Out   string `help:"The folder of the files." placeholder:"DIR" required:"true"`
	Check bool   `help:"Write nothing, and fail unless the files are, byte by byte, what the document says."`
}

// folder refuses what is no name of a folder.
func (r *rendering) folder() error {
	if r.Out == "" {
		return errors.New("the folder of the files has no name: give it one (--out)")
	}
	return nil
}

// write writes files, or checks those that are there. All that have one of the extensions must be made from the document.
func (r *rendering) write(s streams, files []rendered.File, extensions ...string) int {
	if info, err := os.Stat(r.Out); err == nil && !info.IsDir() {
		return misuse(s, fmt.Errorf("%s is a file: --out wants the folder that the files go into", r.Out))
	}
	if !r.Check {
		if err := rendered.Write(r.Out, files); err != nil {
			return fail(s, err)
		}
		fmt.Fprintf(s.out, "%s in %s\n", quantity.Count(len(files), "file"), r.Out)
		return 0
	}
	wrong, err := rendered.Check(r.Out, files, extensions...)
	if err != nil {
		return fail(s, err)
	}
	for _, line := range wrong {
		fmt.Fprintln(s.errs, line)
	}
	if len(wrong) > 0 {
		return fail(s, fmt.Errorf("%s is not what %s says: leave out --check to write it anew", r.Out, r.In))
	}
	fmt.Fprintf(s.out, "%s is what %s says: %s\n", r.Out, r.In, quantity.Count(len(files), "file"))
	return 0
}

// benchChartsCommand draws.
type benchChartsCommand struct {
	rendering `embed:""`
}

func (c *benchChartsCommand) run(_ context.Context, s streams) int {
	if err := c.folder(); err != nil {
		return misuse(s, err)
	}
	d, err := readResults(c.In)
	if err != nil {
		return fail(s, err)
	}
	files, err := charts.Draw(d)
	if err != nil {
		return fail(s, err)
	}
	return c.write(s, files, ".svg")
}

// benchPageCommand writes pages. Those of a document that cannot be read say so.
type benchPageCommand struct {
	rendering `embed:""`
}

func (c *benchPageCommand) run(_ context.Context, s streams) int {
	if err := c.folder(); err != nil {
		return misuse(s, err)
	}
	// A name that is mistyped must not make pages of nothing.
	if info, err := os.Stat(c.In); err != nil || info.IsDir() {
		_, err = readResults(c.In)
		return fail(s, err)
	}
	files, wrong := page.FromFile(c.In)
	if len(files) == 0 {
		return fail(s, wrong)
	}
	if name := c.foreign(files); name != "" && !c.Check {
		return misuse(s, fmt.Errorf("%s is no page of results, and would be written over: name another folder (--out), or remove it", name))
	}
	status := c.write(s, files, ".md")
	if wrong != nil {
		return fail(s, fmt.Errorf("%s is no valid results document, as the pages say now:\n%w", c.In, wrong))
	}
	return status
}

// foreign is a file in the folder that has the name of a page and is none, as the README of a repository is; empty without one.
func (r *rendering) foreign(files []rendered.File) string {
	for _, f := range files {
		name := filepath.Join(r.Out, filepath.FromSlash(f.Name))
		text, err := os.ReadFile(name) //nolint:gosec // The folder is the user's to name.
		if err == nil && len(text) > 0 && !page.Made(text) {
			return name
		}
	}
	return ""
}
