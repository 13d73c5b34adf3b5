package load

import (
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// An Order is what a process of its own is to measure, once.
type Order struct {
	Backend  string      `json:"backend"`
	Spec     matrix.Spec `json:"spec"`
	Messages int         `json:"messages"` // of the corpus, or in the window of a live row; a rung has its own number
	Round    int         `json:"round"`
	// Stop asks for the time that a consumer takes to stop while it holds all that it may.
	Stop bool `json:"stop,omitempty"`
}

// A Report is what became of an order: a run or a load, or why there is none.
type Report struct {
	Run   *document.Run    `json:"run,omitempty"`
	Load  *document.Load   `json:"load,omitempty"`
	Extra *document.Extra  `json:"extra,omitempty"`
	None  *document.Reason `json:"none,omitempty"`
}

// failed is a report of a run that has no number.
func failed(text string) Report {
	return Report{None: &document.Reason{Code: document.Failed, Text: text}}
}
