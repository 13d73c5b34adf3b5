// Package timing has hostile tries on what Wherry promises over time, and nothing but tests: stops, panics, timeouts, retries,
// pauses, redrives, lost topics and connections, restarts and hand-overs, each at a bad moment, in each manner of consuming, on the
// in-process broker's queues, on its log, and on one that can delay nothing.
//
// Each try is a sub-test whose name says what is tried. Where it is random, its seed is in the name. A try runs in a bubble of
// testing/synctest, in a world of its own, which holds after it that nothing was lost, that nothing was handled out of order where an
// order is promised, that no message is at a later attempt than it has failed, that every run ended within its drain time, and that
// no goroutine is left.
package timing
