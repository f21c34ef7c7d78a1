package telemetry

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	l := NewLabels(2)
	l.Admit("configured", "")
	steps := []struct{ name, want string }{
		{"a", "a"},
		{"", LabelNone},
		{"\xff", LabelOther},
		{strings.Repeat("x", MaxLabelBytes+1), LabelOther},
		{"b", "b"}, // none of the above took its place
		{"c", LabelOther},
		{"a", "a"},
		{"configured", "configured"},
	}
	for _, step := range steps {
		if got := l.Value(step.name); got != step.want {
			t.Errorf("Value(%.20q) = %q, want %q", step.name, got, step.want)
		}
	}
	l.Admit("a", "a", "late")
	for _, name := range []string{"late", "c"} { // admitting a gave back its place
		if got := l.Value(name); got != name {
			t.Errorf("after admission, Value(%q) = %q", name, got)
		}
	}
	if got := l.Value("d"); got != LabelOther {
		t.Errorf("Value(d) = %q past the limit", got)
	}
}

func TestLabelsDefaultLimit(t *testing.T) {
	t.Parallel()
	l := NewLabels(0)
	for i := range DefaultMaxLabels {
		if name := fmt.Sprint(i); l.Value(name) != name {
			t.Fatalf("value %d is not kept", i)
		}
	}
	if got := l.Value("more"); got != LabelOther {
		t.Errorf("got %q past the limit", got)
	}
}

func TestLabelsHoldTheirLimitConcurrently(t *testing.T) {
	t.Parallel()
	const limit = 10
	l := NewLabels(limit)
	var mu sync.Mutex
	values := map[string]bool{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 100 {
				v := l.Value(fmt.Sprint(i))
				mu.Lock()
				values[v] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(values) != limit+1 || !values[LabelOther] {
		t.Errorf("%d values, want %d and other", len(values), limit)
	}
}
