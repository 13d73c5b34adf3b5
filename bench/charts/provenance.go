package charts

import (
	"slices"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/quantity"
)

// Provenance says in one line where the numbers of a part come from.
func Provenance(h *document.Host, p *document.Provenance) string {
	commit := p.Commit
	if len(commit) > 10 {
		commit = commit[:10]
	}
	if p.Dirty {
		commit += " with changes"
	}
	date, _, _ := strings.Cut(p.Date, "T")
	words := []string{
		h.CPU, quantity.Count(h.LogicalCores, "core"), "GOMAXPROCS " + quantity.Whole(float64(p.GOMAXPROCS)),
		h.OS, goVersion(p.Go), "Wherry " + p.Version, commit, date,
	}
	if p.Broker != "" && p.Broker != "unknown" {
		words = append(words, p.Broker)
	}
	if p.Quick {
		words = append(words, "a quick run, whose figures are no results")
	}
	words = slices.DeleteFunc(words, func(w string) bool {
		return strings.TrimSpace(w) == "" || w == "unknown" || strings.HasSuffix(w, " unknown")
	})
	return strings.Join(words, " · ")
}

func goVersion(v string) string {
	if rest, ok := strings.CutPrefix(v, "go"); ok {
		return "Go " + rest
	}
	return v
}
