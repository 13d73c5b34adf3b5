// Package document is the results of benchmarks as they are kept: what was measured, where and how, and nothing that was
// not measured.
//
// A document holds the results of one host. A backend has parts, each measured in one go and replaced alone. A part has
// rows, one for each cell that was asked for: a row has values, or the reason why it has none. Whatever can be derived
// from other values is derived again when a document is read, and a document whose values disagree is refused.
package document

// Schema is the version of the format that this package reads and writes.
const Schema = 1

// A Document is all results of one host.
type Document struct {
	Schema   int       `json:"schema"`
	Host     Host      `json:"host"`
	Backends []Backend `json:"backends"` // in the order of their names
}

// A Host is a machine and what it runs on. What cannot be known is "unknown", or zero where it is a number.
type Host struct {
	CPU           string `json:"cpu"`
	Architecture  string `json:"architecture"`
	FrequencyMHz  int    `json:"frequency_mhz"`
	PhysicalCores int    `json:"physical_cores"`
	LogicalCores  int    `json:"logical_cores"`
	MemoryBytes   int64  `json:"memory_bytes"`
	MemorySpeed   string `json:"memory_speed"`
	OS            string `json:"os"`
	Kernel        string `json:"kernel"`
	Seal          string `json:"seal"` // of all other fields: derived
}

// A Backend is what was measured with one broker.
type Backend struct {
	Name   string `json:"name"`
	Matrix *Part  `json:"matrix,omitempty"`
	Levers *Part  `json:"levers,omitempty"`
	Code   *Part  `json:"code,omitempty"`
	Peers  *Part  `json:"peers,omitempty"`
	Pairs  *Part  `json:"pairs,omitempty"`
}

// A Part is rows that were measured in one go.
type Part struct {
	Provenance Provenance `json:"provenance"`
	Rows       []Row      `json:"rows"`
	// Ratios compare rows of this part, run by run. They are derived.
	Ratios []Ratio `json:"ratios,omitempty"`
	Seal   string  `json:"seal"` // of the provenance, of the rows' seals and of what is compared: derived
}

// Provenance is where the values of a part come from. What cannot be known is "unknown".
type Provenance struct {
	Version     string            `json:"version"`
	Commit      string            `json:"commit"`
	Dirty       bool              `json:"dirty"` // whether the tree had changes that are not in Commit
	Date        string            `json:"date"`  // RFC 3339, when the part was begun
	Go          string            `json:"go"`
	GOMAXPROCS  int               `json:"gomaxprocs"`
	BuildFlags  string            `json:"build_flags"`
	Environment map[string]string `json:"environment"` // what was set of what changes figures, GOGC for example
	Codec       string            `json:"codec"`       // with its version
	Valgrind    string            `json:"valgrind"`    // "none" where it took no part
	Client      string            `json:"client"`      // the broker's client library, with its version
	Broker      string            `json:"broker"`      // with its version and how it is deployed
	Durability  string            `json:"durability"`
	RoundTripNS int64             `json:"round_trip_ns"` // zero where there is no network
	Quick       bool              `json:"quick"`         // a short run, whose figures are no results
}
