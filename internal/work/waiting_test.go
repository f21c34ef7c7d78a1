package work

import (
	"testing"

	"penstock"
	"penstock/internal/store"
)

func TestReasonOf(t *testing.T) {
	t.Parallel()
	worker := func(blocked map[string]penstock.Reason) store.ProcessState {
		return store.ProcessState{Works: true, Blocked: blocked}
	}
	down, full := map[string]penstock.Reason{"a": penstock.WaitingOnProvider, "b": penstock.WaitingOnProvider}, map[string]penstock.Reason{"a": penstock.WaitingOnCapacity}
	for name, tt := range map[string]struct {
		targets []string
		workers []store.ProcessState
		want    penstock.Reason
	}{
		"nothing is known of it":             {[]string{"a"}, []store.ProcessState{worker(nil)}, ""},
		"no target is left":                  {nil, []store.ProcessState{worker(down)}, ""},
		"down":                               {[]string{"a", "b"}, []store.ProcessState{worker(down)}, penstock.WaitingOnProvider},
		"one of them is well":                {[]string{"a", "c"}, []store.ProcessState{worker(down)}, ""},
		"another process may call it":        {[]string{"a"}, []store.ProcessState{worker(down), worker(nil)}, ""},
		"full there, down here":              {[]string{"a"}, []store.ProcessState{worker(down), worker(full)}, penstock.WaitingOnCapacity},
		"a reason of a later version":        {[]string{"a"}, []store.ProcessState{worker(map[string]penstock.Reason{"a": "weather"})}, ""},
		"at its limit here, down everywhere": {[]string{"a", "b"}, []store.ProcessState{worker(map[string]penstock.Reason{"a": penstock.WaitingOnRateLimit, "b": penstock.WaitingOnProvider})}, penstock.WaitingOnRateLimit},
	} {
		if got := reasonOf(tt.targets, tt.workers); got != tt.want {
			t.Errorf("%s: it waits on %q, want %q", name, got, tt.want)
		}
	}
}
