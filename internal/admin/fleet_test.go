package admin

import (
	"maps"
	"testing"
	"time"

	"penstock/internal/store"
)

func TestProcessCountsCallsByTarget(t *testing.T) {
	v := newRunningProcess(store.Process{ProcessState: store.ProcessState{Running: map[string]int{"a": 2, "b": 1, "idle": 0}}})
	if v.Calls != 3 || !maps.Equal(v.ByTarget, map[string]int{"a": 2, "b": 1}) {
		t.Errorf("the calls are %d, %v", v.Calls, v.ByTarget)
	}
	if v = newRunningProcess(store.Process{}); v.ByTarget == nil || v.Blocked == nil {
		t.Errorf("JSON would have null: %+v", v)
	}
}

func TestProcessIsSilentAfterMissedHeartbeats(t *testing.T) {
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ago, interval time.Duration
		want          bool
	}{
		{ago: 4 * time.Second, interval: 3 * time.Second},
		{ago: 8 * time.Second, interval: 3 * time.Second, want: true},
		{ago: 8 * time.Second, interval: time.Minute},
		{ago: time.Hour}, // an older version, which does not report the interval
	} {
		p := store.Process{ProcessState: store.ProcessState{ReportedAt: now.Add(-c.ago), Interval: c.interval}}
		if got := silent(p, now); got != c.want {
			t.Errorf("after %v with an interval of %v: %t", c.ago, c.interval, got)
		}
	}
}
