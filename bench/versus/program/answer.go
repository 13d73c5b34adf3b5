package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/wherryhq/wherry/bench/document"
)

// An Answer is what a program prints: a run or a load, or why there is none, and the settings of the subject. A round, and
// what is derived, are not its business and are zero.
type Answer struct {
	Run      *document.Run    `json:"run,omitempty"`
	Load     *document.Load   `json:"load,omitempty"`
	None     *document.Reason `json:"none,omitempty"`
	Settings []string         `json:"settings"`
}

// Unsupported is the answer of a subject that cannot run the cell. The text names what is missing.
func Unsupported(format string, args ...any) *Answer {
	return &Answer{None: &document.Reason{Code: document.Unsupported, Text: fmt.Sprintf(format, args...)}, Settings: []string{}}
}

// Print writes the answer as one line.
func (a *Answer) Print(w io.Writer) error { return json.NewEncoder(w).Encode(a) }

// Read reads the answer of a run of o. It refuses what is not exactly one answer, or not one to o; a ledger that lost or
// repeated a message is read as it is.
func Read(r io.Reader, o *Options) (*Answer, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	a := &Answer{}
	if err := d.Decode(a); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it printed no answer")
		}
		return nil, fmt.Errorf("its answer: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it printed more than one answer")
	}
	if err := a.validate(o); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Answer) validate(o *Options) error {
	given := 0
	for _, is := range []bool{a.Run != nil, a.Load != nil, a.None != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("its answer has %d of run, load and none, and must have one", given)
	case a.None != nil:
		if a.None.Code == "" || a.None.Text == "" {
			return errors.New("its answer has a reason without a code or a text")
		}
		return nil
	case (a.Load != nil) != (o.Method == document.Offered):
		return fmt.Errorf("its answer is not one of the method %s", o.Method)
	case a.Run != nil:
		r := a.Run
		if (o.Window > 0) != (r.Windows > 0) {
			return fmt.Errorf("its answer has windows=%d, and window=%d was asked for", r.Windows, o.Window)
		}
		return counts(o, &r.Ledger, value{"messages", r.Messages}, value{"elapsed_ns", r.ElapsedNS},
			value{"cpu_ns", r.CPUNS}, value{"peak_rss_bytes", r.PeakRSS})
	default:
		l := a.Load
		if l.Latency == nil || l.FromSend == nil || l.Lateness == nil {
			return errors.New("its answer has a load without its latencies")
		}
		return counts(o, &l.Ledger, value{"published", l.Published}, value{"scheduled_ns", l.ScheduledNS},
			value{"publish_ns", l.PublishNS}, value{"cpu_ns", l.CPUNS}, value{"peak_rss_bytes", l.PeakRSS})
	}
}

type value struct {
	name string
	is   int64
}

// counts refuses values that no run can have.
func counts(o *Options, l *document.Ledger, values ...value) error {
	for _, v := range values {
		if v.is < 1 {
			return fmt.Errorf("its answer has %s=%d", v.name, v.is)
		}
	}
	if l.Published != int64(o.Messages) && (o.Window == 0 || l.Published%int64(o.Messages) != 0) {
		return fmt.Errorf("its answer is of %d messages, and %d were asked for", l.Published, o.Messages)
	}
	if l.Handled < 0 || l.Handled > l.Published || l.Duplicated < 0 || l.Reordered < 0 {
		return errors.New("its answer has a ledger that no run can have")
	}
	return nil
}
