package load

import "github.com/wherryhq/wherry/bench/document"

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
