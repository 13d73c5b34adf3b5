package wherry

import (
	"strings"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// holdSteps are the delay classes of brokers that cannot delay: one hold topic each, so that a short delay never waits
// behind a long one.
var holdSteps = [...]time.Duration{
	200 * time.Millisecond, 800 * time.Millisecond, 3200 * time.Millisecond, 12800 * time.Millisecond,
	30 * time.Second, 5 * time.Minute, time.Hour, 6 * time.Hour,
}

// holdHop is the class that a record with this long to wait enters, and how long it stays there. A wait up to a quarter
// over a step, as jitter makes it, stays for the whole of it: what is behind it waits at most that quarter longer. Any
// other is rounded up to a step that is not much longer, or else goes through several.
func holdHop(wait time.Duration) (class int, stay time.Duration) {
	wait = max(wait, 0)
	last := len(holdSteps) - 1
	for class, step := range holdSteps {
		switch {
		case wait <= step && (class == 0 || step <= wait+wait/2):
			return class, step
		case wait >= step && wait <= step+step/4:
			return class, wait
		case wait < step:
			return class - 1, holdSteps[class-1]
		}
	}
	return last, holdSteps[last]
}

// holdTopic is the hold topic of a class.
func holdTopic(topic, group string, class int) driver.Topic {
	parts := []string{topic}
	if group != "" {
		parts = append(parts, group)
	}
	parts = append(parts, "hold", holdStepName(holdSteps[class]))
	return driver.Topic{Name: strings.Join(parts, "."), Role: driver.Hold}
}

// holdStepName is a step's name in a topic's: "200ms", "30s", "5m0s" without what is zero.
func holdStepName(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.String()
	case d%time.Hour == 0:
		return strings.TrimSuffix(d.String(), "0m0s")
	case d%time.Minute == 0:
		return strings.TrimSuffix(d.String(), "0s")
	default:
		return strings.ReplaceAll(d.String(), ".", "_")
	}
}

// recordOf is a copy of a delivery, to be sent while the delivery is unsettled. It shares the delivery's memory.
func recordOf(d *driver.Delivery) driver.Record {
	return driver.Record{
		ID: d.ID, Key: d.Key, Body: d.Body, Headers: d.Headers, ContentType: d.ContentType, Control: d.Control, Unique: true,
	}
}
