package repolint

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
const root = "../.."

func TestRepository(t *testing.T) {
	t.Parallel()
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			for _, finding := range rule.Check(tree) {
				t.Error(finding)
			}
			if t.Failed() {
				t.Log(rule.Why)
			}
		})
	}
}

// TestDependencies asks the go command, which sees what is linked and not only what is written.
func TestDependencies(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 100 {
		t.Fatalf("go list names %d packages, which cannot be all", len(packages))
	}
	module := tree.Modules["."].Module
	for _, p := range foreign(module, packages) {
		// Test variants are listed as "package [package.test]", those of the root as "module_test" and "module.test".
		own := p == module+"_test" || p == module+".test"
		if !own && !strings.HasPrefix(p, "[") && !strings.HasSuffix(p, "]") {
			t.Errorf("the root module depends on %s", p)
		}
	}
}

func TestForeign(t *testing.T) {
	t.Parallel()
	const module = "example.org/m"
	got := foreign(module, []string{"fmt", "net/http", "example.org/m", "example.org/m/a", "example.org/mm", "other.org/x"})
	if want := "example.org/mm other.org/x"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
