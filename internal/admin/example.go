package admin

import (
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// The examples of the OpenAPI document.
var (
	exampleTime   = time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)
	exampleTenant = tenantView{
		Object: "tenant", ID: "search", Source: store.SourceAPI, Enabled: true, Tier: "gold", Weight: 2, Lanes: penstock.Lanes, Regions: []string{"eu"}, Models: []string{}, MediaHosts: []string{},
		Limits: tenantLimits{Limits: penstock.Limits{RequestsPerMinute: 600, Burst: config.DefaultBurst}}, Budget: config.Budget{Monthly: "500", Hard: true},
		ModelBudgets: map[string]config.Budget{}, TagBudgets: map[string]config.Budget{}, ETag: `"v3"`, CreatedAt: exampleTime, UpdatedAt: exampleTime,
	}
	exampleKey = keyView{
		Object: "key", ID: "key_01JQ0000000000000000000001", Tenant: "search", Name: "nightly", Source: store.SourceAPI, Prefix: "psk_7gq2xk", Status: "active", Scopes: penstock.Scopes,
		Secret: "psk_7gq2xk…", ETag: `"v1"`, CreatedAt: &exampleTime,
	}
	exampleControl = controlView{
		Kind: store.ControlTarget, Name: "openai-main", State: string(store.ControlPaused), Reason: "maintenance", Actor: "ada", Since: &exampleTime, Running: new(int64(3)), ETag: `"v1792130400000000"`,
	}
)

var exampleMember = memberView{
	Object: "member", ID: new("mem_01KXB3M9SGQ0VJ8ZC3X1N5T7RE"), Source: store.SourceAPI, Email: new("ada@example.com"), Tenant: new(penstock.TenantID("search")), Role: penstock.RoleDeveloper,
	Actor: new("grace"), CreatedAt: &exampleTime, ETag: `"v12"`,
}

// exampleProcesses is a page of processes.
var exampleProcesses = rest.Page[runningProcess]{Object: "list", Data: []runningProcess{{
	Name: "worker-1-ab12cd34", Version: "1.0.0", Role: "worker", Works: true, Slots: 64, InUse: 12, Calls: 12, ByTarget: map[string]int{"openai-main": 12}, Blocked: []string{}, StartedAt: &exampleTime, HeartbeatAt: &exampleTime,
}}}
