package attempt

import (
	"errors"
	"slices"

	"penstock/internal/provider"
)

// decisive is the error of a task after a try on one more target.
func decisive(before error, failure *provider.Error) error {
	if failure == nil {
		return nil
	}
	if earlier, ok := errors.AsType[*provider.Error](before); ok {
		if failure.Kind.Yields(earlier.Kind) {
			return earlier
		}
	}
	return failure
}

// cannotSucceed reports whether every target that can serve the task was tried and failed for good. It is called when no target is left
// to choose. A target that was left out for lack of capacity, or because it is out of order, may serve the next attempt.
func (c *Run) cannotSucceed() bool {
	if failure, ok := errors.AsType[*provider.Error](c.out.Err); !ok || failure.Kind.Policy().Retry {
		return false
	}
	for _, t := range c.query.Candidates {
		if c.query.Serves(t) && !slices.Contains(c.query.Tried, t.Name) {
			return false
		}
	}
	return true
}
