// Package ear lets a test's broker hear the events of the consumers that run on it. Some of what happens to a message no
// broker sees: in a sequence and in a broadcast a failed message is tried again in memory.
package ear

// An Ear hears events. A broker that embeds one hears those of its consumers. The zero Ear hears nothing.
type Ear struct{ hear func(event any) }

// New returns an Ear that calls hear with each event, from the goroutine that it happens on. An event is a wherry.Event, which
// this package may not name; it is not to be kept.
func New(hear func(event any)) Ear { return Ear{hear} }

func (e Ear) ear() func(event any) { return e.hear }

// Of returns what hears the events of the consumers of a broker; nil for every broker without an Ear.
func Of(broker any) func(event any) {
	if b, ok := broker.(interface{ ear() func(event any) }); ok {
		return b.ear()
	}
	return nil
}
