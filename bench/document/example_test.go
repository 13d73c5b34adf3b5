package document_test

import (
	"fmt"

	"github.com/wherryhq/wherry/bench/document"
)

func Example() {
	host := document.Host{
		CPU: "Example CPU 9000", Architecture: "amd64", LogicalCores: 2, MemorySpeed: document.Unknown,
		OS: "Example Linux 12", Kernel: "6.8.0",
	}
	part := &document.Part{
		Provenance: document.Provenance{
			Version: "v0.3.1", Commit: document.Unknown, Date: "2026-11-30T10:15:00Z", Go: "go1.26.8", GOMAXPROCS: 2,
			BuildFlags: "none", Codec: "encoding/json", Valgrind: "none", Client: "none", Broker: "mem", Durability: "none",
		},
		Rows: []document.Row{{
			Cell: document.Cell{
				Subject: "wherry", Flow: "parallel", Payload: 64, Consumers: 1, Handler: "zero", Codec: "json", Procs: 2,
			},
			Method: document.Live,
			Runs: []document.Run{{
				Round: 1, Messages: 100, ElapsedNS: 50_000, CPUNS: 60_000, PeakRSS: 1 << 20,
				Ledger: document.Ledger{Published: 100, Handled: 100},
			}},
		}},
	}
	d := document.New(host)
	if err := d.Merge(host, "mem", document.MatrixPart, part); err != nil {
		fmt.Println(err)
	}
	fmt.Println(d.Validate())
	fmt.Println(d.Backend("mem").Matrix.Rows[0].Summary.Median, "messages a second")

	part.Rows[0].Summary.Median = 3e6
	fmt.Println(d.Validate())
	// Output:
	// <nil>
	// 2e+06 messages a second
	// backends[0].matrix.rows[0].summary.median: is 3000000, and follows to be 2000000
}
