package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Store keeps the marks of [Dedup]: which keys are in progress, by whom, and which are done. Its methods are called by
// many goroutines, and may block until their contexts end. Keys and owners are never empty; a key may hold any bytes.
type Store interface {
	// Claim asks for key on behalf of owner, who is a new one each time. It is one atomic act: of any number of claims of
	// one key, one is granted, and the others learn who was first. A claim that is granted lasts for the lease, unless it
	// is finished or released before; afterwards it is as if it had not been.
	Claim(ctx context.Context, key, owner string, lease time.Duration) (Claim, error)
	// Finish marks key as done, for the time keep. When owner's lease is over and another owner has claimed the key since,
	// it changes nothing and returns [ErrClaimLost].
	Finish(ctx context.Context, key, owner string, keep time.Duration) error
	// Release gives owner's claim back, so that the next one is granted. A claim that is no longer owner's is left alone,
	// without an error.
	Release(ctx context.Context, key, owner string) error
}

// A Laster is a [Store] that says whether its marks outlive the process. One that does not say is taken for one whose marks do
// not: it is what [wherry.Explain] goes by, and changes nothing else.
type Laster interface {
	// Lasts reports whether another process, and this one after a restart, find the marks. It is constant.
	Lasts() bool
}

// Claim is what a [Store] says to who asks for a key. The zero Claim is none of them, and is taken for a fault of the
// store.
type Claim uint8

const (
	// ClaimGranted is a key that is the owner's now.
	ClaimGranted Claim = iota + 1
	// ClaimBusy is a key that another owner has.
	ClaimBusy
	// ClaimDone is a key that was finished.
	ClaimDone
)

// String returns "granted", "busy" or "done".
func (c Claim) String() string {
	switch c {
	case ClaimGranted:
		return "granted"
	case ClaimBusy:
		return "busy"
	case ClaimDone:
		return "done"
	default:
		return fmt.Sprintf("Claim(%d)", uint8(c))
	}
}

// Errors of a [Store], for [errors.Is].
var (
	// ErrClaimLost is a claim whose lease ended and whose key another owner has: the message was handled twice, or is being.
	ErrClaimLost = errors.New("claim lost to another owner")
	// ErrStoreFull is a store that can take no other claim.
	ErrStoreFull = errors.New("store full")
)
