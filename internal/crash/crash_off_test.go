//go:build !crashtest

package crash

import "testing"

// Whatever the environment says, a production build does not crash on purpose.
func TestPointDoesNothing(t *testing.T) {
	t.Setenv("PENSTOCK_CRASH", "here")
	Point("here")
}
