// Package versus measures Wherry beside its peers: Go channels, other libraries for Go, and two for Rust. Each subject is run
// by a program that is built for the purpose, one run to a process, and the subjects of a comparison take turns, so that
// what a machine's speed does in the course of time happens to all of them.
package versus

import (
	"fmt"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// The subjects beside those of package matrix.
const (
	Watermill       = "watermill"        // gochannel, its channel read by hand
	WatermillRouter = "watermill-router" // gochannel with the Router
	GoCloud         = "gocloud"          // gocloud.dev/pubsub over mempubsub
	Benthos         = "benthos"          // a stream of benthos with a processor in Go
	Shove           = "shove"            // Rust, on its broker inside the process
	RustStream      = "ruststream"       // Rust, on its broker inside the process
)

// Service is the flow of a service that reads two fields of a JSON body.
const Service = "service"

const (
	rounds    = 5
	offers    = 5 // runs of an offered load
	smallest  = 64
	middling  = 1 << 10
	largest   = 64 << 10
	inOrder   = 8 // sequenced handlers at once, and shards of a peer that has those
	ofService = 128
	maxBodies = 1 << 30
	liveBound = 10_000
	rung      = 10 * time.Second
)

var (
	concurrencies = []int{1, 2, 4, 8, 32}
	consumers     = []int{1, 2, 4, 8}
	payloads      = []int{smallest, middling, largest}
	rates         = []int{5_000, 25_000, 100_000}
	codecs        = []string{matrix.FastJSON, matrix.JSON}
)

// Cells are all cells, those that are measured in turn together.
func Cells() []matrix.Spec {
	var all []matrix.Spec
	all = append(all, live()...)
	all = append(all, drains()...)
	all = append(all, batches()...)
	all = append(all, sequences()...)
	all = append(all, services()...)
	return append(all, offered()...)
}

// cell is a cell of one subject with the zero handler.
func cell(subject, flow string, payload, n int, codec string, procs int) document.Cell {
	return document.Cell{
		Subject: subject, Flow: flow, Payload: payload, Consumers: n, Handler: matrix.Zero, Codec: codec, Procs: procs,
	}
}

// live are publishing and consuming at once. On one processor only what a channel is compared with is measured.
func live() []matrix.Spec {
	var all []matrix.Spec
	for _, procs := range []int{matrix.Processors, 1} {
		subjects := []string{matrix.Channel, matrix.BareChannel}
		if procs > 1 {
			subjects = append(subjects, Watermill, WatermillRouter, GoCloud, Benthos)
		}
		for _, n := range concurrencies {
			base := matrix.Spec{
				Method: document.Live, Rounds: rounds, Bound: liveBound,
				Turn: fmt.Sprintf("live, %d at once on %d", n, procs),
			}
			own := base
			own.Cell = cell(matrix.Wherry, matrix.Parallel, smallest, n, matrix.BytesView, procs)
			all = append(all, own)
			if procs > 1 && n > 1 {
				own.Workers = n
				all = append(all, own)
			}
			for _, subject := range subjects {
				peer := base
				peer.Cell = cell(subject, matrix.Parallel, smallest, n, matrix.BytesView, procs)
				peer.Notes = notes[subject]
				all = append(all, peer)
			}
		}
	}
	return all
}

// notes say what a number of consumers means to a subject that has no such number, or none in a flow.
var notes = map[string][]string{
	Watermill:       {"Publish waits for the acknowledgement, so one message is on its way"},
	WatermillRouter: {"the Router starts a goroutine for each message; Publish waits for the acknowledgement"},
	Shove + " " + matrix.Sequence: {
		"its keys are spread over as many shards as it has consumers, each of which handles one message at a time; each shard has the bound of a queue",
	},
	matrix.BareChannel: {
		"a floor: no copy, no number, no acknowledgement; its messages are counted and not told apart",
	},
}

// drains are of JSON bodies whose values the handler owns. The default codec is beside the fastest at one payload.
func drains() []matrix.Spec {
	var all []matrix.Spec
	for _, payload := range payloads {
		for _, n := range consumers {
			turn := fmt.Sprintf("drain, %d B, %d consumers", payload, n)
			for _, codec := range codecs {
				if codec == matrix.JSON && payload != smallest {
					continue
				}
				all = append(all, drain(cell(matrix.Wherry, matrix.Parallel, payload, n, codec, matrix.Processors), turn))
			}
			all = append(all, drain(cell(Shove, matrix.Parallel, payload, n, matrix.JSON, matrix.Processors), turn))
			if payload == smallest {
				all = append(all, drain(cell(GoCloud, matrix.Parallel, payload, n, matrix.JSON, matrix.Processors), turn))
			}
		}
	}
	// Those of the libraries for Go that keep no backlog say so.
	for _, subject := range []string{Watermill, WatermillRouter, Benthos} {
		all = append(all, drain(cell(subject, matrix.Parallel, smallest, 1, matrix.JSON, matrix.Processors), "drain by "+subject))
	}
	return all
}

func drain(c document.Cell, turn string) matrix.Spec {
	return matrix.Spec{Cell: c, Method: document.Drain, Rounds: rounds, Turn: turn, MaxBodies: maxBodies}
}

// batches are drains in batches of 500, or of what came within 250 ms.
func batches() []matrix.Spec {
	var all []matrix.Spec
	for _, n := range consumers {
		turn := fmt.Sprintf("batches, %d consumers", n)
		for _, c := range []document.Cell{
			cell(matrix.Wherry, matrix.Batch, smallest, n, matrix.FastJSON, matrix.Processors),
			cell(Shove, matrix.Batch, smallest, n, matrix.JSON, matrix.Processors),
		} {
			all = append(all, drain(c, turn))
		}
	}
	return all
}

// sequences are published and consumed at once, in the order of 1,000 keys. Both publishers encode.
func sequences() []matrix.Spec {
	var all []matrix.Spec
	add := func(subject, codec string) {
		all = append(all, matrix.Spec{
			Cell:   cell(subject, matrix.Sequence, smallest, inOrder, codec, matrix.Processors),
			Method: document.Live, Rounds: rounds, Bound: liveBound, Keys: matrix.Keys,
			Turn: fmt.Sprintf("sequences, %d at once", inOrder), Notes: notes[subject+" "+matrix.Sequence],
		})
	}
	for _, codec := range codecs {
		add(matrix.Wherry, codec)
	}
	add(Shove, matrix.JSON)
	return all
}

// services are drained on one processor and fed live on two.
func services() []matrix.Spec {
	var all []matrix.Spec
	for _, s := range []matrix.Spec{
		{Method: document.Drain, MaxBodies: maxBodies, Cell: document.Cell{Procs: 1}},
		{Method: document.Live, Bound: liveBound, Cell: document.Cell{Procs: matrix.Processors}},
	} {
		s.Rounds, s.Turn = rounds, fmt.Sprintf("service, %s on %d", s.Method, s.Procs)
		for _, subject := range []string{matrix.Wherry, RustStream} {
			for _, codec := range codecs {
				if subject == RustStream && codec != matrix.JSON {
					continue
				}
				s.Cell = cell(subject, Service, ofService, 1, codec, s.Procs)
				all = append(all, s)
			}
		}
	}
	return all
}

// offered are ladders of one consumer, whose rungs are measured in turn.
func offered() []matrix.Spec {
	var all []matrix.Spec
	for _, rate := range rates {
		for _, subject := range []string{matrix.Wherry, Shove} {
			codec := matrix.JSON
			if subject == matrix.Wherry {
				codec = matrix.FastJSON
			}
			s := matrix.Spec{
				Method: document.Offered, Rounds: offers, Bound: liveBound, Length: rung, Turn: fmt.Sprintf("offered, %d/s", rate),
			}
			s.Cell = cell(subject, matrix.Parallel, smallest, 1, codec, matrix.Processors)
			s.Rate = rate
			all = append(all, s)
		}
	}
	return all
}

// Ratios are the comparisons of Wherry with each other subject of its turn, without their values, which
// [document.Part.Derive] fills in.
func Ratios(specs []matrix.Spec) []document.Ratio {
	var ratios []document.Ratio
	for i := range specs {
		of := &specs[i]
		if of.Subject != matrix.Wherry || of.Method == document.Offered {
			continue
		}
		for j := range specs {
			if to := &specs[j]; to.Subject != matrix.Wherry && to.Turn == of.Turn {
				ratios = append(ratios, document.Ratio{Of: of.Cell, To: to.Cell})
			}
		}
	}
	return ratios
}
