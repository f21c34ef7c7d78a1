package api

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The closed lists in the document hold every constant that the source declares of their types.
func TestOpenAPIEnumsAreComplete(t *testing.T) {
	t.Parallel()
	declared := map[string][]string{}
	constantsOf(t, "../..", declared)
	constantsOf(t, "../store", declared)
	constantsOf(t, "../backlog", declared)
	constantsOf(t, "../rollup", declared)
	constantsOf(t, "../prompt", declared)
	constantsOf(t, "../prompt/content", declared)
	constantsOf(t, "../playground", declared)
	for enum, values := range enums() {
		if diff := cmp.Diff(slices.Sorted(slices.Values(declared[enum.Name()])), slices.Sorted(slices.Values(values))); diff != "" {
			t.Errorf("%v (-declared +described):\n%s", enum, diff)
		}
	}
}
