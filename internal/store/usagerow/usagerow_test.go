package usagerow

import (
	"testing"

	"penstock"
)

// A usage is usual only if its first counts are all that it has.
func TestIsUsual(t *testing.T) {
	t.Parallel()
	var u penstock.Usage
	for i, n := range u.Counts() {
		*n = 1
		if got, want := isUsual(&u), i < usualCounts; got != want {
			t.Errorf("with %s: %t, want %t", penstock.UsageNames[i], got, want)
		}
		if i >= usualCounts {
			*n = 0
		}
	}
}

// The columns are constants for the sake of the queries that are built from them.
func TestColumns(t *testing.T) {
	t.Parallel()
	if want := Each("%s", ", "); Names != want {
		t.Errorf("the columns are %q, want %q", Names, want)
	}
	if want := Each("%s bigint", ", "); Columns != want {
		t.Errorf("the columns are %q, want %q", Columns, want)
	}
}
