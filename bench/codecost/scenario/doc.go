// Package scenario is the work whose code is counted: what a message costs in the engine, in the in-process broker, and in
// the loops that somebody would write by hand instead.
//
// Each scenario handles a number of messages and then calls back, before anything is stopped, so that the difference of
// two runs of different length is the cost of messages alone: opening, filling and closing are in both. It is made for
// one processor (GOMAXPROCS=1), without the collector.
package scenario
