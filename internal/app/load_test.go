package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/queue"
	"penstock/internal/work"
)

// The bounds and weights of the configuration are in force, also after a reload.
func TestLoadFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	first, err := config.NewSnapshot(config.File{})
	if err != nil {
		t.Fatal(err)
	}
	live := config.NewLive(first)
	weights := work.LaneWeights(live)
	if diff := cmp.Diff(queue.DefaultLaneWeights, weights()); diff != "" {
		t.Errorf("the default weights of configuration and queue differ (-queue +config):\n%s", diff)
	}
	if got := objectives(first); got[penstock.LaneRealtime] != time.Second || got[penstock.LaneStandard] != time.Minute || got[penstock.LaneBulk] != time.Hour {
		t.Errorf("objectives %v", got)
	}
	next, err := config.NewSnapshot(config.File{
		Queue:   config.Queue{MaxItems: 100, TenantMaxItems: 10},
		Lanes:   config.Lanes{Bulk: config.Lane{Weight: 5}},
		Tenants: map[string]config.TenantConfig{"search": {Limits: config.TenantLimits{QueuedItems: 50}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	live.Swap(next)
	limits := queueLimits{live, directory.New(directory.Deps{Config: live, Clock: time.Now})}
	if got := limits.All(); got != (backlog.Bounds{Items: 100, Bytes: config.DefaultQueueBytes}) {
		t.Errorf("the whole queue takes %+v", got)
	}
	for tenant, want := range map[penstock.TenantID]int64{"search": 50, "gone": 10} {
		if got := limits.Tenant(tenant); got.Items != want || got.Bytes != config.DefaultTenantQueueBytes {
			t.Errorf("the queue of %s takes %+v, want %d items", tenant, got, want)
		}
	}
	if got := weights(); got[penstock.LaneBulk] != 5 || got[penstock.LaneRealtime] != 64 {
		t.Errorf("weights %v", got)
	}
}
