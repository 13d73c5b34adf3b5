// Package codecost counts what a message costs in code: instructions, which valgrind counts and no neighbour on the
// machine changes, and allocations.
//
// # Method
//
// A small program (package counted, with the work of package scenario) does one scenario for N messages and ends. It is
// run under callgrind for N and for 2N messages, with one processor, without the collector and without asynchronous
// preemption. What a message costs is the slope: the difference of the two totals over N. What is done once, from the
// start of the process to the opening of the broker, is in both totals and cancels out. The same is done for allocations,
// by the program's own count, without valgrind. The cold start is the total of a process that handles one message.
//
// Scenarios whose messages wait before they are handled have 2N waiting in both runs, and end with the last one handled,
// so that filling the queue cancels out too.
//
// # See one scenario
//
//	make cost                          # the list of scenarios
//	make cost SCENARIO=live            # instructions and allocations per message
//	make cost SCENARIO="live consume"  # several
//	make cost SCENARIO=live PROFILE=1  # and where the instructions are, by function
//
// Or go run ./bench/codecost/cost, whose -help lists more: -runs repeats, -n sets N, -save keeps what was counted, and
// -against compares with it. The profile is that of callgrind_annotate, of a run of 4N messages.
//
// # Gate
//
//	make bench-gate                 # allocations against ceiling.json
//	make bench-gate BASELINE=HEAD~3 # and instructions against that commit
//	make ceiling                    # measure seven times and write ceiling.json anew
//
// No scenario may allocate more than the committed ceiling: the most seen, and a thousandth, which is a thousandth of a
// block and a byte per message where nothing is allocated, and the range of what was seen where runs differ. Instructions
// are in the file for information, with their spread; without a baseline the gate counts them for a few scenarios, to see
// that they can be counted. Against a baseline, a scenario fails that takes more of them than the larger of 2 % and twice
// its spread.
package codecost
