package middleware

import "github.com/wherryhq/wherry"

// outcomeAt is the outcome of the i-th message of a batch whose other messages have the outcome rest.
func outcomeAt(b wherry.AnyBatch, i int, rest wherry.Outcome) wherry.Outcome {
	if o, set := b.Outcome(i); set {
		return o
	}
	return rest
}
