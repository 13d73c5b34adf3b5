package pace

import (
	"runtime"
	"sync"
)

// Patience is how often who waits for a moment lets others run before it sleeps: some hundred microseconds, which is longer
// than it takes to be woken, and than what it waits for.
const Patience = 1024

// Lock takes a lock that others hold for microseconds. Who has to wait lets others run before it sleeps.
func Lock(mu *sync.Mutex) {
	if !mu.TryLock() {
		lockBusy(mu)
	}
}

func lockBusy(mu *sync.Mutex) {
	for range Patience {
		runtime.Gosched()
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}
