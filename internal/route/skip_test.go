package route

import (
	"strings"
	"testing"

	"penstock"
)

// The list of skipped targets is text for a header, whatever a caller wrote into the name of a field.
func TestSkippedTargetsAreAHeader(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b"}
	var s Skips
	if s.AddUnable("a", penstock.Internal(nil)) || s.Before(&penstock.Model{}, names, "b") != "" {
		t.Errorf("an error of our own skips a target: %+v", s)
	}
	if !s.AddUnable("a", penstock.InvalidParam("x\r\nset-cookie: \u00e9", "no")) {
		t.Error("an error about the call skips no target")
	}
	if got, want := s.Before(&penstock.Model{}, names, "b"), "a (cannot express x??set-cookie: ?)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.AddUnable("a", penstock.InvalidParam(strings.Repeat("x", 10_000), "no"))
	if got := s.Before(&penstock.Model{}, names, "b"); len(got) > maxSkippedBytes+len("...") {
		t.Errorf("%d bytes", len(got))
	}
}
