package keytable_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/wherryhq/wherry/internal/keytable"
)

// Random adds and removes leave what a map has.
func TestAgainstAMap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		var table keytable.Table[int]
		want := map[string]int{}
		for step := range 10_000 {
			key := fmt.Sprint("key-", r.IntN(1+r.IntN(2500)))
			n := table.Get([]byte(key))
			value, there := want[key]
			if (n != nil) != there || there && (n.Value != value || string(n.Key()) != key) {
				t.Fatalf("seed %d, step %d: %q is %v, want %d, %t", seed, step, key, n, value, there)
			}
			switch {
			case n == nil:
				n = table.Of([]byte(key))
				if n.Value != 0 {
					t.Fatalf("seed %d: a new key has the value %d", seed, n.Value)
				}
				n.Value, want[key] = step+1, step+1
			case table.Of([]byte(key)) != n:
				t.Fatalf("seed %d: %q has a second node", seed, key)
			case r.IntN(2) == 0:
				if r.IntN(2) == 0 {
					table.Remove(n)
				} else {
					table.Retire(n)
				}
				delete(want, key)
			}
			if table.Len() != len(want) {
				t.Fatalf("seed %d: %d keys, want %d", seed, table.Len(), len(want))
			}
		}
		seen := 0
		table.All(func(n *keytable.Node[int]) bool {
			if want[string(n.Key())] != n.Value {
				t.Errorf("seed %d: %q is %d, want %d", seed, n.Key(), n.Value, want[string(n.Key())])
			}
			seen++
			table.Remove(n)
			return true
		})
		if seen != len(want) || table.Len() != 0 {
			t.Errorf("seed %d: saw %d of %d, %d are left", seed, seen, len(want), table.Len())
		}
	}
}

// Keys that come and go allocate nothing, and loose nodes neither.
func TestAllocations(t *testing.T) { //nolint:paralleltest // Allocations are counted for the whole process.
	var table keytable.Table[int]
	keys := make([][]byte, 1000)
	for i := range keys {
		keys[i] = fmt.Append(nil, "key-", i)
	}
	turn := func() {
		for _, key := range keys {
			table.Of(key)
		}
		loose := table.Loose()
		for i, key := range keys {
			if n := table.Get(key); i%3 == 0 {
				table.Remove(n)
			} else {
				table.Retire(n)
			}
		}
		table.Remove(loose)
	}
	turn()
	if got := testing.AllocsPerRun(100, turn); got != 0 {
		t.Errorf("%v allocations for %d keys", got, len(keys))
	}
}

// A table that had very many keys gives their memory back.
func TestShrinks(t *testing.T) { //nolint:paralleltest // Memory is counted for the whole process.
	var table keytable.Table[int]
	before := heap()
	for i := range 200_000 {
		table.Of(fmt.Append(nil, "key-", i))
	}
	for i := range 200_000 {
		table.Retire(table.Get(fmt.Append(nil, "key-", i)))
	}
	if more := heap() - before; more > 1<<19 {
		t.Errorf("%d bytes are left", more)
	}
	runtime.KeepAlive(&table)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
