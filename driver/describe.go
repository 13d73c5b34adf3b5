package driver

import "time"

// A Describer is a [Broker] that says beforehand what its senders and receivers will say once they are opened, so that a
// consumer can be explained before it runs. It opens, declares and sends nothing.
type Describer interface {
	// Describe tells of the receivers of s, opened in its Manner, and of the senders to its topics. It does not block, and its
	// answer is constant for the life of the broker. It may be called concurrently, and after Close.
	Describe(s Source) Description
}

// A Description is what a [Describer] says. Its zero value is a broker that can do nothing but the least.
type Description struct {
	// Info is that of the receivers.
	Info Info
	// Holds tells that the senders are Holders, and MaxHold is theirs; 0 is no bound.
	Holds   bool
	MaxHold time.Duration
	// Revokes tells that the receivers are Revokers.
	Revokes bool
}
