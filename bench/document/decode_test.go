package document

import (
	"bytes"
	"strings"
	"testing"
)

// TestDecodeRefuses replaces texts in the sample. The path of what is wrong is in the error.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good := string(encoded(t, sample(t)))
	const (
		row  = "backends[1].matrix.rows[0]"
		load = "backends[1].matrix.rows[4].load"
	)
	for name, test := range map[string]struct{ old, wrong, path, text string }{
		"schema":           {`"schema": 1`, `"schema": 7`, "schema", "is 7, and this program knows 1 alone"},
		"no schema":        {`"schema": 1,`, ``, "schema", "is missing"},
		"unknown field":    {`"memory_speed"`, `"memory_sped"`, "host.memory_sped", "is no field of schema 1"},
		"missing field":    {`"kernel": "6.8.0-41",`, ``, "host.kernel", "is missing"},
		"twice":            {`"kernel"`, `"os"`, "host.os", "stands twice"},
		"null":             {`"kernel": "6.8.0-41"`, `"kernel": null`, "host.kernel", "is null, want a text"},
		"another kind":     {`"logical_cores": 2`, `"logical_cores": "2"`, "host.logical_cores", "is a text, want a number"},
		"fraction":         {`"logical_cores": 2`, `"logical_cores": 2.5`, "host.logical_cores", "want a whole number"},
		"too large":        {`"logical_cores": 2`, `"logical_cores": 1e400`, "host.logical_cores", "want a whole number"},
		"no float":         {`"median": 1034550.4`, `"median": 1e400`, row + ".summary.median", "want a number of 64 bits"},
		"no object":        {`"host": {`, `"host": [{}], "other": {`, "host", "is a list, want an object"},
		"no list":          {`"backends": [`, `"backends": {}, "other": [`, "backends", "is an object, want a list"},
		"CPU unknown":      {`"cpu": "Example CPU 9000"`, `"cpu": "unknown"`, "host.cpu", "has to be known"},
		"OS empty":         {`"os": "Example Linux 12"`, `"os": ""`, "host.os", "is empty"},
		"Go unknown":       {`"go": "go1.26.8"`, `"go": "unknown"`, "backends[0].levers.provenance.go", "has to be known"},
		"commit empty":     {`"commit": "a61c723f"`, `"commit": ""`, "backends[0].levers.provenance.commit", "is empty"},
		"date":             {`"date": "2026-11-30T10:15:00Z"`, `"date": "today"`, "backends[0].levers.provenance.date", "RFC 3339"},
		"backend twice":    {`"name": "mem"`, `"name": "kafka"`, "backends[1].name", `is "kafka", as is backends[0].name`},
		"backend order":    {`"name": "mem"`, `"name": "amqp"`, "backends[1].name", "belongs before"},
		"backend nameless": {`"name": "mem"`, `"name": ""`, "backends[1].name", "is empty"},
		"method":           {`"method": "drain"`, `"method": "guess"`, row + ".method", `is "guess", want drain, live,`},
		"method of values": {`"method": "drain"`, `"method": "count"`, row, "has runs, want code"},
		"reason": {
			`"code": "window too short"`, `"code": "tired"`, "backends[1].matrix.rows[3].not_shown.code", `is "tired", want window too short,`,
		},
		"reason without text": {
			`"0.41 s for 2,000,000 messages"`, `""`, "backends[1].matrix.rows[3].not_shown.text", "is empty",
		},
		"neither": {
			`"not_shown": {"code": "window too short", "text": "0.41 s for 2,000,000 messages"},`, ``,
			"backends[1].matrix.rows[3]", "has neither values nor a reason",
		},
		"both": {
			`"notes": ["a bound`, `"not_shown": {"code": "failed", "text": "yes"}, "notes": ["a bound`, row, "has values (runs) and a reason",
		},
		"derived without source": {
			`"notes": ["a bound`, `"code": {"runs": [], "instructions": 1, "spread": 0, "allocations": 0, "bytes": 0}, "notes": ["a bound`,
			row, "has runs and code, want runs",
		},
		"summary alone": {
			`"not_shown": {"code"`, `"summary": {"best": 1, "median": 1, "worst": 1, "cpu_ns_per_message": 1, "peak_rss_bytes": 1, "spread": 1},
			"not_shown": {"code"`, "backends[1].matrix.rows[3].summary", "nothing that it follows from",
		},
		"count":      {`"messages": 1999968`, `"messages": 0`, "backends[0].levers.rows[0].runs[0].messages", "is 0, want at least 1"},
		"lost":       {`"handled": 2000000`, `"handled": 1999999`, "backends[0].levers.rows[0].runs[0].ledger.handled", "lost a message"},
		"duplicated": {`"duplicated": 0`, `"duplicated": 1`, "backends[0].levers.rows[0].runs[0].ledger.duplicated", "repeated a message"},
		"same cell": {
			`"rate": 25000`, `"rate": 5000`, "backends[1].matrix.rows[5]",
			"is of the same cell as rows[4]: wherry parallel 64 B consumers=1 json 5000/s procs=2",
		},
		"sustained":       {`"sustained": true`, `"sustained": false`, load + ".sustained", "is false, and follows to be true"},
		"not sustained":   {`"peak_lag": 2345`, `"peak_lag": 2501`, load + ".latency", "nothing that it follows from"},
		"quantiles":       {`"p95_ns": 45678`, `"p95_ns": 12344`, load + ".latency.p95_ns", "want at least 12345"},
		"late pacer":      {`"p99_ns": 5678`, `"p99_ns": 9877`, load + ".pacer_late.p99_ns", "more than a tenth"},
		"rate":            {`"rate": 5000,`, ``, "backends[1].matrix.rows[4].rate", "is missing"},
		"ratio elsewhere": {`"of": {"subject": "wherry"`, `"of": {"subject": "ferry"`, "backends[1].matrix.ratios[0].of", "is no row of the part: ferry"},
		"seal":            {`"seal": "`, `"seal": "0`, "host.seal", "does not fit"},
		"no growth":       {`"instructions_2n": 26356543`, `"instructions_2n": 18116543`, "backends[1].code.rows[0].code.runs[0].instructions_2n", "no more than"},
		"two documents":   {"\n}\n", "\n}\n{}", "", "something after the end"},
		"cut":             {"\n}\n", "\n", "", "ends too early"},
		"no JSON":         {`"procs": 2`, `"procs": 02`, "backends[0].levers.rows[0].procs", "no JSON, at line "},
		"deep":            {`"backends": [`, `"backends": [` + strings.Repeat("[", 60), "", "nest too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(good, test.old) {
				t.Fatalf("the sample has no %s", test.old)
			}
			_, err := Decode([]byte(strings.Replace(good, test.old, test.wrong, 1)))
			if test.path == "" {
				if err == nil || !strings.Contains(err.Error(), test.text) {
					t.Errorf("the error is not about %q:\n%v", test.text, err)
				}
				return
			}
			wantFault(t, err, test.path)
			if err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("the error is not about %q:\n%v", test.text, err)
			}
		})
	}
}

func TestDecodeRefusesOtherThings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                "ends too early",
		"[]":              "the document is a list",
		"3":               "the document is a number",
		"{}":              "schema: is missing",
		`{"schema": "1"}`: `schema: is "1"`,
		"# results":       "this is no JSON, at line 1",
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%q) = %v, want %q", text, err, want)
		}
	}
}

// TestDecodeFindsAll has more than one wrong value in a document.
func TestDecodeFindsAll(t *testing.T) {
	t.Parallel()
	d := sample(t)
	d.Backends[1].Matrix.Rows[0].Summary.Median++
	d.Backends[1].Matrix.Rows[1].Runs[2].ElapsedNS++
	d.Backends[1].Matrix.Ratios[0].High *= 1.001
	d.Backends[1].Code.Rows[1].Code.Instructions -= 0.001
	*d.Backends[1].Code.Rows[1].Code.More++
	d.Host.LogicalCores = 3
	d.Backends[0].Levers.Provenance.Dirty = true
	_, err := Decode(encoded(t, d))
	for _, path := range []string{
		"host.logical_cores", "backends[0].levers.provenance.dirty", "backends[1].matrix.rows[0].summary.median",
		"backends[1].matrix.rows[1].runs[2].elapsed_ns", "backends[1].matrix.ratios[0].high",
		"backends[1].code.rows[1].code.instructions", "backends[1].code.rows[1].code.more",
	} {
		wantFault(t, err, path)
	}
}

// TestRowRemoved removes a row whose absence nothing else shows.
func TestRowRemoved(t *testing.T) {
	t.Parallel()
	d := sample(t)
	p := d.Backends[1].Matrix
	p.Rows = p.Rows[:len(p.Rows)-1]
	_, err := Decode(encoded(t, d))
	wantFault(t, err, "backends[1].matrix.seal")
}

func FuzzDecode(f *testing.F) {
	f.Add(string(encoded(f, sample(f))))
	f.Add(`{"schema": 1, "host": {}, "backends": [{"name": "a", "matrix": {"rows": [{}]}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Decode([]byte(text))
		if err != nil {
			return
		}
		data := encoded(t, d)
		again, err := Decode(data)
		if err != nil {
			t.Fatalf("what was accepted is refused when written again:\n%v", err)
		}
		if !bytes.Equal(encoded(t, again), data) {
			t.Error("a document is not written the same twice")
		}
	})
}
