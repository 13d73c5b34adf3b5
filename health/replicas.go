package health

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/wherryhq/wherry"
)

// ReplicaConfig says what [Set.Replicas] reckons with. Fields that are zero take their defaults.
type ReplicaConfig struct {
	// Within is the time in which what waits is to be handled. Default a minute.
	Within time.Duration
	// Min is the number of replicas when nothing waits. Default 1: where none runs, nobody answers.
	Min int
	// Max is the most replicas. Default 0, which is no bound.
	Max int
}

const defaultWithin = time.Minute

// mistakes names every field that is wrong.
func (c ReplicaConfig) mistakes() (bad []string) {
	if c.Within < 0 {
		bad = append(bad, fmt.Sprintf("Within is %v, want more than 0", c.Within))
	}
	if c.Min < 0 {
		bad = append(bad, fmt.Sprintf("Min is %d, want at least 1", c.Min))
	}
	if c.Max != 0 && c.Max < max(c.Min, 1) {
		bad = append(bad, fmt.Sprintf("Max is %d, want 0 or at least Min", c.Max))
	}
	return bad
}

func (c ReplicaConfig) withDefaults() ReplicaConfig {
	if c.Within == 0 {
		c.Within = defaultWithin
	}
	c.Min = max(c.Min, 1)
	return c
}

// A ReplicaReport is the body of an answer of [Set.Replicas].
type ReplicaReport struct {
	// DesiredReplicas is how many processes like this one would handle what waits within the time: the most that one of
	// the consumers wants. It is absent when one of them does not know.
	DesiredReplicas *int `json:"desired_replicas,omitempty"`
	// SecondsToDrain is how long this process alone would take for what waits: the longest of its consumers. It is absent
	// when one of them does not know.
	SecondsToDrain *float64       `json:"seconds_to_drain,omitempty"`
	Consumers      []DrainsReport `json:"consumers"`
}

// A DrainsReport is a consumer's part of a [ReplicaReport].
type DrainsReport struct {
	Consumer string `json:"consumer"`
	Topic    string `json:"topic"`
	Group    string `json:"group,omitempty"`   // absent in a queue
	Backlog  *int64 `json:"backlog,omitempty"` // absent where the broker does not tell
	// Rate is how many messages a second were handled of late while work waited.
	Rate float64 `json:"rate"`
	// SecondsToDrain is Backlog ÷ Rate, and 0 where nothing waits; absent where it is not known.
	SecondsToDrain *float64 `json:"seconds_to_drain,omitempty"`
	// DesiredReplicas is SecondsToDrain ÷ Within, rounded up and within the bounds; absent where it is not known.
	DesiredReplicas *int `json:"desired_replicas,omitempty"`
	// Unknown is why there are no numbers, empty where there are.
	Unknown string `json:"unknown,omitempty"`
}

// Replicas answers how many processes like this one there should be, for an autoscaler that asks over HTTP, such as KEDA's
// metrics-api. The answer is a [ReplicaReport] in JSON. The handler answers GET and HEAD, may be used by any number of
// goroutines, and never blocks: it asks no broker, and its numbers are as old as the last look of the watchdog.
//
// A consumer knows its seconds to drain when it runs and nothing waits, which is 0, or when something waits and it has
// handled something. It does not know them when it is in any other state, a stalled or a paused one included, since more
// processes mend neither; when its broker does not say what waits; and when it has handled nothing while work waited. If one
// does not know them, the answer is 503 and says why, so that the autoscaler changes nothing, where a number would be made
// up. An empty set and a nil consumer do not know either. Mistakes in c are a 500 that names them.
func (s Set) Replicas(c ReplicaConfig) http.Handler {
	if bad := c.mistakes(); len(bad) > 0 {
		return mistaken("health: replicas: " + strings.Join(bad, "; "))
	}
	c = c.withDefaults()
	return answers(func() (int, any) {
		report := s.replicas(c)
		if report.DesiredReplicas == nil {
			return http.StatusServiceUnavailable, report
		}
		return http.StatusOK, report
	})
}

func (s Set) replicas(c ReplicaConfig) ReplicaReport {
	out := ReplicaReport{Consumers: make([]DrainsReport, 0, len(s))}
	desired, seconds, known := 0, 0.0, len(s) > 0
	for _, consumer := range s {
		h := wherry.Health{State: wherry.StateIdle, Backlog: -1}
		if consumer != nil {
			h = consumer.Health()
		}
		one := c.drains(&h)
		out.Consumers = append(out.Consumers, one)
		if one.Unknown != "" {
			known = false
			continue
		}
		desired, seconds = max(desired, *one.DesiredReplicas), max(seconds, *one.SecondsToDrain)
	}
	if known {
		out.DesiredReplicas, out.SecondsToDrain = &desired, &seconds
	}
	return out
}

// drains is what one consumer says.
func (c *ReplicaConfig) drains(h *wherry.Health) DrainsReport {
	out := DrainsReport{Consumer: h.Consumer, Topic: h.Topic, Group: h.Group, Rate: h.Rate}
	if h.Backlog >= 0 {
		out.Backlog = &h.Backlog
	}
	switch {
	case h.State != wherry.StateRunning:
		out.Unknown = "the consumer is " + string(h.State)
	case h.Backlog < 0:
		out.Unknown = "the broker does not say what waits"
	case h.Backlog > 0 && h.Rate <= 0:
		out.Unknown = "nothing was handled yet while work waited"
	default:
		seconds := 0.0
		if h.Backlog > 0 {
			seconds = float64(h.Backlog) / h.Rate
		}
		most := math.MaxInt32
		if c.Max > 0 {
			most = c.Max
		}
		desired := int(min(max(math.Ceil(seconds/c.Within.Seconds()), float64(c.Min)), float64(most)))
		out.SecondsToDrain, out.DesiredReplicas = &seconds, &desired
	}
	return out
}
