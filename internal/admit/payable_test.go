package admit

import (
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
)

// A budget for a model pays for every name that the model answers for, and one for a name pays for that alone.
func TestFallbackIsNoWayAroundABudget(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(f *config.File) { f.FallbackModel = "smart" })
	for _, tt := range []struct {
		budget, asked string
		paid          bool
	}{
		{"smart", "smart", true}, {"smart", "whatever", true}, {"whatever", "whatever", true}, {"whatever", "another", false}, {"smart", "fast", false},
	} {
		r.caller.Tenant.Budgets = []penstock.Budget{{Model: tt.budget, Period: penstock.PeriodTotal, Limit: 1_000_000_000, Hard: true}}
		o := order()
		o.Model = tt.asked
		if sub := r.admit(o); (len(sub.Accounts) == 1) != tt.paid || sub.Job.Resolved.Bounded != tt.paid {
			t.Errorf("a budget for %s, and %s is asked for: %d accounts, bounded %t", tt.budget, tt.asked, len(sub.Accounts), sub.Job.Resolved.Bounded)
		}
	}
}

// A feature whose price the request does not bound is not paid by a hard budget, unless a target has a surcharge that bounds it; a
// soft budget pays like for anything else.
func TestHardBudgetsPayForBoundedPrices(t *testing.T) {
	t.Parallel()
	const search = `{"messages":[],"max_tokens":10,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":2}]}`
	surcharge := map[string]config.Surcharge{"web_search": {PerUse: "0.01", MaxUses: 3, InputTokens: 1000, Factor: 2}}
	for name, tt := range map[string]struct {
		hard       bool
		body       string
		surcharges map[string]config.Surcharge
		want       penstock.Code
		param      string
		bound      penstock.NanoUSD // 0 for any
	}{
		"hard":               {true, search, nil, penstock.CodeBudgetExceeded, "tools[0].type", 0},
		"soft":               {false, search, nil, "", "", 0},
		"surcharge":          {true, search, surcharge, "", "", penstock.NanoUSD(2*(int64(len(search))+1000)*1000+2*10*2000) + 30_000_000},
		"another surcharge":  {true, search, map[string]config.Surcharge{"container": {}}, penstock.CodeBudgetExceeded, "tools[0].type", 0},
		"more uses":          {true, strings.Replace(search, `"max_uses":2`, `"max_uses":4`, 1), surcharge, penstock.CodeBudgetExceeded, "tools[0].max_uses", 0},
		"uses not bounded":   {true, strings.Replace(search, `,"max_uses":2`, "", 1), surcharge, penstock.CodeBudgetExceeded, "tools[0].max_uses", 0},
		"two features":       {true, strings.Replace(search, `{"messages"`, `{"speed":"fast","messages"`, 1), surcharge, penstock.CodeBudgetExceeded, "speed", 0},
		"a document":         {true, pdfBody, nil, "", "", penstock.NanoUSD((int64(len(pdfBody))+50_000)*1000 + 10*2000)},
		"an unknown member":  {true, `{"messages":[],"max_tokens":10,"turbo":true}`, nil, penstock.CodeBudgetExceeded, "turbo", 0},
		"unknown, but null":  {true, `{"messages":[],"max_tokens":10,"turbo":null}`, nil, "", "", 0},
		"an upstream's file": {true, `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"file_1"}}]}],"max_tokens":10}`, nil, penstock.CodeBudgetExceeded, "messages[0].content[0].source.file_id", 0},
	} {
		r := newRig(t, func(f *config.File) {
			target := f.Targets["cheap"]
			target.Surcharges, target.ContextTokens = tt.surcharges, 50_000
			f.Targets["cheap"] = target
		})
		r.caller.Tenant.Budgets = []penstock.Budget{{Period: penstock.PeriodTotal, Limit: 1_000_000_000_000, Hard: tt.hard}}
		inf, err := catalog.Read(penstock.EndpointMessages, []byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		o := order()
		o.Inferences = []dialect.Inference{inf}
		_, jobErr := r.Job(t.Context(), r.caller, o)
		call, callErr := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast", Inference: inf})
		for _, err := range []error{jobErr, callErr} {
			if code := codeOf(err); code != tt.want || code != "" && penstock.AsError(err).Param != tt.param {
				t.Errorf("%s: %v, want %q for %q", name, err, tt.want, tt.param)
			}
		}
		if tt.bound > 0 && call.Bound != tt.bound {
			t.Errorf("%s: %v is reserved, want %v", name, call.Bound, tt.bound)
		}
	}
}

const pdfBody = `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}]}],"max_tokens":10}`

// An item of several that is refused says which one it is, and keeps its code.
func TestRefusedFeatureNamesItsInput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.caller.Tenant.Budgets = []penstock.Budget{{Period: penstock.PeriodTotal, Limit: 1_000_000_000_000, Hard: true}}
	o := order()
	for _, text := range []string{`{"messages":[]}`, `{"messages":[],"plugins":[{"id":"web"}]}`} {
		inf, err := catalog.Read(penstock.EndpointChat, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		o.Inferences = append(o.Inferences, inf)
	}
	_, err := r.Job(t.Context(), r.caller, o)
	if e := penstock.AsError(err); err == nil || e.Code != penstock.CodeBudgetExceeded || e.Param != "inputs[2].body.plugins" {
		t.Errorf("%v", err)
	}
}

func codeOf(err error) penstock.Code {
	if err == nil {
		return ""
	}
	return penstock.ErrorCode(err)
}
