package host

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// unrepeatable are variables that change what the Go toolchain builds or how its programs run. A child of the benchmark
// gets none of them from whoever started it.
var unrepeatable = []string{
	"GO386", "GOAMD64", "GOARM", "GOARM64", "GODEBUG", "GOEXPERIMENT", "GOFIPS140", "GOFLAGS", "GOGC", "GOMAXPROCS",
	"GOMEMLIMIT", "GORACE", "GOTRACEBACK", "GCCGO", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS",
	"RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "LD_PRELOAD", "MALLOC_ARENA_MAX",
}

// Cleared is what the environment of a part's provenance has for a variable that was set and that children did not get.
const Cleared = "cleared"

// Environment is the environment of a child: that of this process without what makes figures unrepeatable, with
// GOMAXPROCS as given and with the variables in set, which may be nil.
func Environment(procs int, set map[string]string) []string {
	return environment(os.Environ(), procs, set)
}

// Timed is what is set for the processes that are timed, beside GOMAXPROCS. The heap of a drain rises and falls by its corpus
// several times a second. The runtime takes what is free for a while as no longer needed, gives it back to the system, and the
// next window pays for taking it again. With this it stays until the system wants it. A service whose heap is about as large
// as it was a second ago meets neither.
func Timed() map[string]string { return map[string]string{"GODEBUG": "madvdontneed=0"} }

func environment(own []string, procs int, set map[string]string) []string {
	all := map[string]string{"GOMAXPROCS": strconv.Itoa(procs)}
	maps.Copy(all, set)
	clean := slices.DeleteFunc(slices.Clone(own), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		_, given := all[name]
		return given || slices.Contains(unrepeatable, name)
	})
	for _, name := range slices.Sorted(maps.Keys(all)) {
		clean = append(clean, name+"="+all[name])
	}
	return clean
}

// Recorded is what a provenance says of the environment of children: the variables in set, which may be nil, and those
// that were [Cleared].
func Recorded(set map[string]string) map[string]string { return recorded(os.Environ(), set) }

func recorded(own []string, set map[string]string) map[string]string {
	all := map[string]string{}
	for _, variable := range own {
		if name, value, _ := strings.Cut(variable, "="); value != "" && slices.Contains(unrepeatable, name) {
			all[name] = Cleared
		}
	}
	maps.Copy(all, set)
	return all
}
