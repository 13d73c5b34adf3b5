package document

// A Method is how a row was measured. It is stated, never inferred.
type Method string

// The methods. They are explained in BENCHMARK's terms on the page docs/benchmarks/method.md.
const (
	Drain   Method = "drain"   // a corpus that was published before is consumed
	Live    Method = "live"    // published and consumed at once
	Offered Method = "offered" // an open loop at a rate, latency from the intended time
	Count   Method = "count"   // counted, not timed
	Paired  Method = "pair"    // loops in turn over the same connection
)

// A Cell is what a row measures. Its fields identify the row within its part.
type Cell struct {
	Subject   string `json:"subject"`           // "wherry", or the peer: "go-channel", "watermill-router"
	Flow      string `json:"flow"`              // "parallel", "publish", "batch"; of a count, its scenario
	Variant   string `json:"variant,omitempty"` // what else tells the row apart, as "middleware=4"
	Payload   int    `json:"payload"`           // bytes of payload, or of the whole body with a byte codec
	Consumers int    `json:"consumers"`         // handlers at once
	Workers   int    `json:"workers,omitempty"` // connections; zero where it is not a lever
	Prefetch  int    `json:"prefetch,omitempty"`
	Handler   string `json:"handler"`        // "zero", "wait", "slow", "compute", "limited"
	Codec     string `json:"codec"`          // "json", "fastjson", "bytesview"
	Rate      int    `json:"rate,omitempty"` // of an offered load, messages per second
	Procs     int    `json:"procs"`          // GOMAXPROCS
}

// A Row is the result of one cell: values, or the reason why there are none.
type Row struct {
	Cell
	Method   Method   `json:"method"`
	NotShown *Reason  `json:"not_shown,omitempty"`
	Notes    []string `json:"notes,omitempty"`    // deviations: a smaller corpus, a raised bound
	Settings []string `json:"settings,omitempty"` // of the subject, as "buffer=10000"

	Runs    []Run    `json:"runs,omitempty"` // of a drain, a live row or a pair, in the order of their rounds
	Summary *Summary `json:"summary,omitempty"`
	Load    *Load    `json:"load,omitempty"`  // of an offered row
	Code    *Code    `json:"code,omitempty"`  // of a counted row
	Extra   *Extra   `json:"extra,omitempty"` // of lever rows
	Seal    string   `json:"seal"`            // of what follows from nothing else: derived
}

// A ReasonCode says why a cell has no value.
type ReasonCode string

// The reasons.
const (
	TooShort     ReasonCode = "window too short"
	Failed       ReasonCode = "failed"
	Unsupported  ReasonCode = "unsupported"  // Text names the ability that is missing
	NotMeasured  ReasonCode = "not measured" // Text says why: the toolchain is missing, it was interrupted
	Withheld     ReasonCode = "withheld"     // measured, and not fit to be published
	ShapeOnly    ReasonCode = "shape only"   // an emulator, whose figures stand for nothing
	OtherCorpus  ReasonCode = "corpus differs"
	PacerTooLate ReasonCode = "pacer too late"
)

// Interrupted is the text of [NotMeasured] in a row that an interrupt left.
const Interrupted = "interrupted"

// A Reason is why a cell has no value.
type Reason struct {
	Code ReasonCode `json:"code"`
	Text string     `json:"text"`
}

// A Run is one timed run of a cell. A run that lost a message is not here: its row has the reason.
type Run struct {
	Round     int    `json:"round"`             // the same in all rows of a part that were run in turn
	Windows   int    `json:"windows,omitempty"` // of a drain: how many the rest is the sum of; absent is one
	Messages  int64  `json:"messages"`
	ElapsedNS int64  `json:"elapsed_ns"`
	CPUNS     int64  `json:"cpu_ns"` // of the whole process within the window
	PeakRSS   int64  `json:"peak_rss_bytes"`
	Ledger    Ledger `json:"ledger"`
}

// A Ledger is what became of the messages of a run.
type Ledger struct {
	Published  int64 `json:"published"`
	Handled    int64 `json:"handled"` // distinct messages
	Lost       int64 `json:"lost"`    // derived: published less handled
	Duplicated int64 `json:"duplicated"`
	Reordered  int64 `json:"reordered"`
	Ordered    bool  `json:"ordered"` // whether order was promised and so judged
}

// A Summary is derived from runs. Rates are messages per second; CPU is nanoseconds of processor time per message.
type Summary struct {
	Best         float64  `json:"best"`
	Median       float64  `json:"median"`
	Worst        float64  `json:"worst"`
	CPU          float64  `json:"cpu_ns_per_message"`   // the median
	PeakRSS      int64    `json:"peak_rss_bytes"`       // the highest
	Efficiency   *float64 `json:"efficiency,omitempty"` // median over the median at one consumer; null without that row
	SpreadFactor float64  `json:"spread"`               // best over worst
}

// A Load is the result of an offered load.
type Load struct {
	ScheduledNS int64      `json:"scheduled_ns"` // from the first to the last intended time
	Published   int64      `json:"published"`
	PublishNS   int64      `json:"publish_ns"` // what the producer took
	PeakLag     int64      `json:"peak_lag"`   // published and not handled, at most
	Reached     float64    `json:"reached"`    // derived: published per second over the rate
	Sustained   bool       `json:"sustained"`  // derived
	Ledger      Ledger     `json:"ledger"`
	CPUNS       int64      `json:"cpu_ns"`
	PeakRSS     int64      `json:"peak_rss_bytes"`
	Latency     *Quantiles `json:"latency,omitempty"` // from the intended time; withheld when not sustained
	// Withheld is why a load that was sustained has no latency from the intended time. That from the send stands.
	Withheld *Reason    `json:"latency_withheld,omitempty"`
	FromSend *Quantiles `json:"from_send,omitempty"`  // from the send, as peers stamp it
	Lateness *Quantiles `json:"pacer_late,omitempty"` // of the pacer itself
	// Runs is how often the load was measured; all else is of the run in the middle. Absent is once, or unknown.
	Runs int `json:"runs,omitempty"`
	// P99sFromSend are the p99 from the send of all runs, in the order of their rounds, and P99s those from the intended time.
	// They are absent where the load was measured once, and where a run has none: it was not sustained, or the pacer late.
	P99sFromSend []int64 `json:"p99s_from_send_ns,omitempty"`
	P99s         []int64 `json:"p99s_ns,omitempty"`
}

// Quantiles are of a latency, in nanoseconds.
type Quantiles struct {
	P50  int64 `json:"p50_ns"`
	P95  int64 `json:"p95_ns"`
	P99  int64 `json:"p99_ns"`
	P999 int64 `json:"p99_9_ns"`
	Max  int64 `json:"max_ns"`
}

// A Code is counts of one scenario. What is per message is the slope between N and 2N messages.
type Code struct {
	Runs         []CodeRun `json:"runs"`
	Instructions float64   `json:"instructions"` // derived: per message, the median of the runs
	Spread       float64   `json:"spread"`       // derived: half the range of the runs over the median
	Allocations  float64   `json:"allocations"`  // derived: blocks per message, the highest of the runs
	Bytes        float64   `json:"bytes"`        // derived: bytes allocated per message, the highest of the runs
	// Over is the scenario that this one is compared with, Less the instructions per message that it takes more: derived.
	Over string   `json:"over,omitempty"`
	More *float64 `json:"more,omitempty"`
}

// A CodeRun is the totals of one whole process at N and at 2N messages.
type CodeRun struct {
	N          int64 `json:"n"`
	InstrN     int64 `json:"instructions_n"`
	Instr2N    int64 `json:"instructions_2n"`
	BlocksN    int64 `json:"blocks_n"`
	Blocks2N   int64 `json:"blocks_2n"`
	BytesN     int64 `json:"bytes_n"`
	Bytes2N    int64 `json:"bytes_2n"`
	ColdInstr  int64 `json:"cold_instructions"` // start and first delivery
	ColdBlocks int64 `json:"cold_blocks"`
}

// Extra is what lever rows say besides their rate.
type Extra struct {
	BusiestShare float64 `json:"busiest_share,omitempty"` // of the busiest consumer, of all messages
	StopNS       int64   `json:"stop_ns,omitempty"`       // from the signal to stop to the end of the drain
}

// A Ratio compares two rows of a part that were run in turn: the median over rounds of the paired ratios of their rates,
// with a 95 % bootstrap interval, which of few rounds is their range: see [Ratio.Interval].
type Ratio struct {
	Of     Cell    `json:"of"`
	To     Cell    `json:"to"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Rounds int     `json:"rounds"`
}
