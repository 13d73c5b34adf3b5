//go:build race

package mem_test

import (
	"testing"

	"github.com/wherryhq/wherry/mem"
)

func TestRaceBuildsPoison(t *testing.T) {
	t.Parallel()
	wantPoison(t, mem.Config{})
}
