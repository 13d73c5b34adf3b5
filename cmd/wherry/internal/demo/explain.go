package demo

import (
	"context"

	"github.com/wherryhq/wherry"
)

// Explain says what the service's consumers guarantee. Nothing of it runs.
func Explain(ctx context.Context) (wherry.Explanation, error) {
	s, err := newService(ctx, Config{})
	if err != nil {
		return wherry.Explanation{}, err
	}
	x := wherry.Explain(wherry.Join(s.consumers()...))
	return x, s.close()
}
