package drivertest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Run checks the broker of h against every case that its abilities call for, and against the backend's own. Each is a
// subtest. It fails t when there is no case to run, when a case needs a hook that h neither has nor lacks with a
// reason, and when Lacks names what is not lacking.
func Run(t *testing.T, h Harness, own ...Case) {
	t.Helper()
	h = h.withDefaults()
	all := slices.Concat(Cases(), own)
	found, hooks := probe(t, h)
	for _, wrong := range h.misfits(all, hooks) {
		t.Error(wrong)
	}

	ran, lacking := 0, map[string][]string{}
	for _, c := range all {
		if !c.Applies(found) {
			continue
		}
		if what, reason := h.lack(c, hooks); reason != "" {
			why := "lacks " + what + ": " + reason
			lacking[why] = append(lacking[why], c.Name)
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			if !c.Alone {
				t.Parallel()
			}
			c.report(t, h)
		})
	}

	notRun := 0
	for _, why := range slices.Sorted(maps.Keys(lacking)) {
		notRun += len(lacking[why])
		t.Logf("NOT RUN, %s\n\t%s", why, strings.Join(lacking[why], "\n\t"))
	}
	var names []string
	for _, a := range found {
		if !strings.Contains(string(a), " ") {
			names = append(names, string(a))
		}
	}
	t.Logf("%d cases run, %d NOT RUN; abilities: %s", ran, notRun, strings.Join(names, ", "))
	if ran == 0 {
		t.Error("no case was run")
	}
}

// RunCase checks the broker of h against the one case of that name. It fails t when there is no such case or when the
// broker lacks an ability that it needs.
func RunCase(t *testing.T, h Harness, name string) {
	t.Helper()
	i := slices.IndexFunc(Cases(), func(c Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no case %q", name)
	}
	c := Cases()[i]
	if found := Find(t, h); !c.Applies(found) {
		t.Fatalf("%s needs %v; the broker has %v", name, c.Needs, found)
	}
	c.report(t, h)
}

func (c Case) report(t *testing.T, h Harness) {
	t.Helper()
	if err := c.Check(t, h); err != nil {
		t.Errorf("contract: %s\n%v", c.Sentence, err)
	}
}

// lack returns what the harness says it lacks for the case, and why.
func (h *Harness) lack(c Case, hooks map[string]bool) (what, reason string) {
	if reason := h.Lacks[c.Name]; reason != "" {
		return "the case", reason
	}
	for _, hook := range c.Hooks {
		if !hooks[hook] && h.Lacks[hook] != "" {
			return "the hook " + hook, h.Lacks[hook]
		}
	}
	return "", ""
}
