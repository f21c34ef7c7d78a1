package attempt

import (
	"errors"
	"slices"

	"penstock/internal/provider"
)

// decisive is what a task came to when a try on one more target ended.
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

// hopeless says that each target which can serve the task was tried and failed in a way that no time heals. It is asked when no target
// is left to choose; one that was left out for now, for lack of room or because it is out of order, may be there the next time.
func (c *Run) hopeless() bool {
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
