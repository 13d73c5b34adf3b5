// Package exportdata type-checks against packages as the go command compiled them, which is quick and needs no other
// module.
package exportdata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
)

// A Set is a list of packages with what their importers see. It is not changed after [Load].
type Set struct {
	// Packages are the import paths that the patterns of Load matched, in the order of the go command.
	Packages []string

	files map[string]string // by import path, dependencies too
}

// Load compiles what the patterns match from dir, where that is not done yet, and what it depends on. It uses the
// module of dir alone, without a workspace.
func Load(ctx context.Context, dir string, patterns ...string) (*Set, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export,DepOnly"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	s := &Set{files: map[string]string{}}
	read := s.read(json.NewDecoder(out))
	if err := errors.Join(read, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return s, nil
}

func (s *Set) read(d *json.Decoder) error {
	for {
		var p struct {
			ImportPath string `json:"ImportPath"`
			Export     string `json:"Export"`
			DepOnly    bool   `json:"DepOnly"`
		}
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("decode: %w", err)
		}
		s.files[p.ImportPath] = p.Export
		if !p.DepOnly {
			s.Packages = append(s.Packages, p.ImportPath)
		}
	}
}

// Importer returns an importer of the set's packages and their dependencies. One goroutine may use it.
func (s *Set) Importer(fset *token.FileSet) types.Importer {
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		file := s.files[path]
		if file == "" {
			return nil, fmt.Errorf("package %s is not in the set: %w", path, os.ErrNotExist)
		}
		return os.Open(file)
	})
}
