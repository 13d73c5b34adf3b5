package drivertest

// LacksInProcess is [Harness.Lacks] of a broker that lives in the process of its users, and has no switches for faults: there is
// no connection to cut, no server to start again and no foreign program. The map is the caller's: what the harness has after
// all is deleted from it, and what else is lacking is added.
func LacksInProcess() map[string]string {
	const (
		connection = "the broker lives in this process: there is no connection to cut"
		server     = "the broker lives in this process, and ends with it"
		taken      = "the broker lives in this process, and takes nothing back of its own accord"
	)
	return map[string]string{
		HookInject:         "the broker lives in this process: no foreign program reaches it",
		HookCut:            connection,
		HookCutBeforeWrite: connection,
		HookCutAfterWrite:  connection,
		HookRestart:        server,
		HookWipe:           server,
		HookRevoke:         taken,
		HookRevokeTx:       taken,
	}
}
