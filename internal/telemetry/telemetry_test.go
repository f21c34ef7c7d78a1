package telemetry

import (
	"testing"

	"go.uber.org/goleak"
)

const (
	testRequest = "01JQ0000000000000000000REQ"
	testJob     = "01JQ0000000000000000000J0B"
	testItem    = "01JQ0000000000000000000TEM"
	testAttempt = "01JQ0000000000000000000ATT"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWithIDs(t *testing.T) {
	t.Parallel()
	base := WithIDs(t.Context(), IDs{Request: testRequest, Tenant: "search"})
	tests := []struct {
		name string
		add  IDs
		want IDs
	}{
		{"nothing", IDs{}, IDs{Request: testRequest, Tenant: "search"}},
		{"another field", IDs{Job: testJob}, IDs{Request: testRequest, Job: testJob, Tenant: "search"}},
		{"replaces", IDs{Tenant: "ads"}, IDs{Request: testRequest, Tenant: "ads"}},
		{"all", IDs{Job: testJob, Item: testItem, Attempt: testAttempt},
			IDs{testRequest, testJob, testItem, testAttempt, "search"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := *idsFrom(WithIDs(base, test.add)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if got := *idsFrom(base); got != (IDs{Request: testRequest, Tenant: "search"}) {
				t.Errorf("the outer context changed to %+v", got)
			}
		})
	}
	if WithIDs(base, IDs{Tenant: "search"}) != base {
		t.Error("ids that are already there made a new context")
	}
}

func TestSetTenant(t *testing.T) {
	t.Parallel()
	ctx := WithIDs(t.Context(), IDs{Request: testRequest})
	SetTenant(ctx, "")
	SetTenant(ctx, "search")
	if got := *idsFrom(ctx); got != (IDs{Request: testRequest, Tenant: "search"}) {
		t.Errorf("got %+v", got)
	}
	SetTenant(t.Context(), "search") // has no ids: nothing to change
	if got := Tenant(t.Context()); got != "" {
		t.Errorf("a context without ids has the tenant %q", got)
	}
}
