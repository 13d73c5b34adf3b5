package exportdata_test

import (
	"errors"
	"go/token"
	"os"
	"slices"
	"testing"

	"github.com/wherryhq/wherry/internal/exportdata"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	set, err := exportdata.Load(t.Context(), "../..", "./driver")
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/wherryhq/wherry/driver"
	if !slices.Equal(set.Packages, []string{path}) {
		t.Errorf("packages are %q", set.Packages)
	}
	imp := set.Importer(token.NewFileSet())
	pkg, err := imp.Import(path)
	if err != nil {
		t.Fatal(err)
	}
	if pkg.Scope().Lookup("Broker") == nil {
		t.Error("the imported package has no Broker")
	}
	if _, err := imp.Import("context"); err != nil {
		t.Errorf("a dependency is missing: %v", err)
	}
	if _, err := imp.Import("net/http/httptest"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for a package that is not in the set", err)
	}
}

func TestLoadOfNothing(t *testing.T) {
	t.Parallel()
	if _, err := exportdata.Load(t.Context(), "../..", "./no/such/folder"); err == nil {
		t.Error("a pattern without packages is no error")
	}
}
