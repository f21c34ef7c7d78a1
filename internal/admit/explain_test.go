package admit

import (
	"context"
	"slices"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/store"
)

func TestRegions(t *testing.T) {
	t.Parallel()
	model := penstock.Model{Name: "m", Targets: []string{"eu", "us", "anywhere"}}
	targets := map[string]*penstock.Target{"eu": {Region: "eu"}, "us": {Region: "us"}, "anywhere": {}}
	for _, tt := range []struct{ regions, want []string }{
		{nil, model.Targets}, {[]string{"eu"}, []string{"eu"}}, {[]string{"us", "eu"}, []string{"eu", "us"}}, {[]string{"mars"}, nil},
	} {
		got, err := inRegions(model, targets, tt.regions)
		if !slices.Equal(got, tt.want) || (tt.want == nil) != (penstock.ErrorCode(err) == penstock.CodeInvalidRequest) {
			t.Errorf("in %v: %v, %v; want %v", tt.regions, got, err, tt.want)
		}
	}
}

// left is the balance of every account.
type left penstock.NanoUSD

func (l left) Balances(_ context.Context, _ penstock.TenantID, accounts []store.Account) ([]store.Balance, error) {
	all := make([]store.Balance, len(accounts))
	for i := range all {
		all[i] = store.Balance{Limit: penstock.NanoUSD(l), Hard: accounts[i].Hard}
	}
	return all, nil
}

// A hard budget that has too little left for a target leaves the target out, gives the reason, and pays for the others.
func TestBudgetsLeaveTargetsOut(t *testing.T) {
	t.Parallel()
	inf := dialect.Inference{Object: body.Object{Text: []byte(`{"messages":[]}`)}, MaxOutputTokens: 10}
	dear, cheap := penstock.NanoUSD(15*10_000+10*20_000), penstock.NanoUSD(15*1000+10*2000)
	for _, tt := range []struct {
		name  string
		hard  bool
		left  left
		body  string
		open  []string
		wants string // in the reason for the expensive target
	}{
		{"enough", true, left(dear), "", []string{"costly", "cheap"}, ""},
		{"enough for one", true, left(dear - 1), "", []string{"cheap"}, "may cost $0.00035, and the budget has $0.000349999 left"},
		{"for none", true, left(cheap - 1), "", nil, "may cost"},
		{"a soft one", false, 0, "", []string{"costly", "cheap"}, ""},
		{"a feature without a bounded price", true, left(dear), `{"messages":[],"tools":[{"type":"web_search"}]}`, nil, `tools[0].type: a hard budget pays for this call, and the request sets no bound on the cost of "web_search"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.Balances = tt.left
			r.caller.Tenant.Budgets = []penstock.Budget{{Period: penstock.PeriodTotal, Limit: 1, Hard: tt.hard}}
			order := RequestOrder{Model: "smart", Inference: inf}
			if tt.body != "" {
				var err error
				if order.Inference, err = catalog.Read(penstock.EndpointChat, []byte(tt.body)); err != nil {
					t.Fatal(err)
				}
			}
			c, err := r.Consider(t.Context(), r.caller, order)
			if err != nil || !slices.Equal(c.Open, tt.open) || !strings.Contains(c.Out["costly"], tt.wants) || (tt.wants == "") != (c.Out["costly"] == "") {
				t.Errorf("%v may be called, costly %q, %v; want %v, %q", c.Open, c.Out["costly"], err, tt.open, tt.wants)
			}
		})
	}
	r := newRig(t)
	r.caller.Tenant.Budgets = []penstock.Budget{{Period: penstock.PeriodTotal, Limit: 1, Hard: true}}
	a, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "smart", Inference: inf})
	if err != nil || a.Bound != dear || a.Less == nil || !slices.Equal(a.Less(), []penstock.NanoUSD{cheap}) {
		t.Errorf("%+v, %v; want the bounds %d and %d", a, err, dear, cheap)
	}
}
