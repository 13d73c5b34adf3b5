package repolint

import (
	"fmt"
	"slices"
	"strings"
)

// A layer says which packages of this repository a folder's packages may import, tests apart. Both sides are folders;
// a trailing "/…" stands for a folder and all below it.
type layer struct {
	dir string
	may []string
}

// layers is read from the top: the first that fits a folder counts.
func layers() []layer {
	return []layer{
		{"driver", nil},
		{"driver/gap", nil},
		{"driver/drivertest/…", []string{".", "codec", "driver", "driver/drivertest/…", "internal/…"}},
		{"codec/…", nil},
		{".", []string{"codec", "driver", "internal/…"}},
		{"mem/…", []string{"driver", "driver/gap", "mem/…", "internal/…"}},
		{"middleware/…", []string{".", "codec", "driver", "middleware/…", "internal/…"}},
		{"flow/…", []string{".", "codec", "driver", "middleware", "flow/…", "internal/…"}},
		{"health/…", []string{"."}},
		{"wherrytest/…", []string{".", "codec", "driver", "mem", "wherrytest/…", "internal/…"}},
		{"internal/…", []string{"driver", "internal/…"}},
		{"attack/…", []string{"…"}}, // nothing but tests
		// Commands, examples and the benchmark wire things up.
		{"attack/…", []string{"…"}},
		{"cmd/…", []string{"…"}},
		{"examples/…", []string{"…"}},
		{"bench/…", []string{"…"}},
		{"otel/…", []string{".", "driver", "otel/…"}},
		{"codecs/…", []string{"codecs/…"}},
	}
}

// checkers are the packages that look at the repository itself. Nothing is built upon them.
var checkers = []string{"internal/guards", "internal/misuse", "internal/repolint", "internal/surface"}

// backend is the layer of every module that is not named above: the seam, what is made for its drivers, and nothing else.
func backend(dir string) layer {
	return layer{dir + "/…", []string{"driver", "driver/gap", dir + "/…"}}
}

func layersHold(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if f.Test || f.Module == tools {
			continue
		}
		l, ok := layerOf(f.Dir, f.Module)
		if !ok {
			found = append(found, fmt.Sprintf("%s: folder %s has no layer: give it one in internal/repolint/layer.go", f.Path, f.Dir))
			continue
		}
		for _, p := range f.ImportPaths() {
			dir, own := t.dirOf(p)
			if !own {
				continue
			}
			fits := slices.ContainsFunc(l.may, func(pattern string) bool { return within(dir, pattern) })
			if !fits || slices.Contains(checkers, dir) {
				found = append(found, fmt.Sprintf("%s: imports %s, which layer %s may not", f.Path, p, l.dir))
			}
		}
	}
	return found
}

func layerOf(dir, module string) (layer, bool) {
	for _, l := range layers() {
		if within(dir, l.dir) {
			return l, true
		}
	}
	if module != "." {
		return backend(module), true
	}
	return layer{}, false
}

// within reports whether dir fits a pattern of a layer.
func within(dir, pattern string) bool {
	below, all := strings.CutSuffix(pattern, "…")
	if !all {
		return dir == pattern
	}
	return below == "" || dir == strings.TrimSuffix(below, "/") || strings.HasPrefix(dir, below)
}
