package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// A Backend is what differs from the pinned cells with one broker.
type Backend struct {
	Name string
	// InProcess backends have live rows beside Go channels, and no feed of their own.
	InProcess bool
	MaxBodies int64    // the most bytes of bodies that a corpus may have
	Notes     []string // deviations that stand on every row
}

var backends = []Backend{{
	Name:      "mem",
	InProcess: true,
	MaxBodies: 1 << 30,
	Notes:     []string{"the queue's bound is raised to hold the corpus, at most 1 GiB of bodies"},
}}

// Named returns a backend. The error of an unknown one lists those that exist.
func Named(name string) (Backend, error) {
	i := slices.IndexFunc(backends, func(b Backend) bool { return b.Name == name })
	if i < 0 {
		var names []string
		for _, b := range backends {
			names = append(names, b.Name)
		}
		return Backend{}, fmt.Errorf("there is no backend %q; there is %s", name, strings.Join(names, ", "))
	}
	return backends[i], nil
}
