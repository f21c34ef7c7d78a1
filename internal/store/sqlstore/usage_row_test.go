package sqlstore

import (
	"testing"

	"penstock"
)

// A usage is told by its first counts only if these are all it has.
func TestIsUsual(t *testing.T) {
	t.Parallel()
	var u penstock.Usage
	for i, n := range u.Counts() {
		*n = 1
		if got, want := isUsual(&u, usualCounts), i < usualCounts; got != want {
			t.Errorf("with %s: %t, want %t", penstock.UsageNames[i], got, want)
		}
		if i >= usualCounts {
			*n = 0
		}
	}
}

// The names of columns are constants for the sake of the queries that are made of them.
func TestUsageColumns(t *testing.T) {
	t.Parallel()
	if want := eachUsage("%s", ", "); usageNames != want {
		t.Errorf("the columns are %q, want %q", usageNames, want)
	}
	if want := eachUsage("%s bigint", ", "); usageColumns != want {
		t.Errorf("the columns are %q, want %q", usageColumns, want)
	}
}
