package middleware

import (
	"context"

	"github.com/wherryhq/wherry"
)

// A verdict is what an outcome says about what the handlers depend on. The worst is the greatest.
type verdict uint8

const (
	nothing verdict = iota
	success
	failure
)

// judge says what an outcome means. That a handler fails because its context ended under it means nothing.
func (b *Breaker) judge(ctx context.Context, o wherry.Outcome) verdict {
	switch {
	case b.cfg.Failed(o):
		if taken(context.Cause(ctx)) {
			return nothing
		}
		return failure
	case o.Kind() == wherry.KindAck, o.Kind() == wherry.KindReject:
		return success
	default:
		return nothing
	}
}

// judgeBatch appends the verdict on each message.
func (b *Breaker) judgeBatch(ctx context.Context, ab wherry.AnyBatch, rest wherry.Outcome, dst []verdict) []verdict {
	for i := range ab.Len() {
		dst = append(dst, b.judge(ctx, outcomeAt(ab, i, rest)))
	}
	return dst
}
