package usage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// books are what tenants spent, the same every day.
type books map[penstock.TenantID][]store.Spending

func (b books) Spending(_ context.Context, tenant penstock.TenantID, q store.SpendingQuery) ([]store.Spending, error) {
	return b[tenant][:min(q.Limit, len(b[tenant]))], nil
}

func spent(model, team string, cost penstock.NanoUSD) store.Spending {
	return store.Spending{Model: model, Tags: map[string]string{"team": team}, Outcomes: 1, Cost: cost, Usage: penstock.Usage{InputTokens: 3, OutputTokens: 2}}
}

var today = time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)

func TestReadQuery(t *testing.T) {
	t.Parallel()
	q, err := Read(Terms{}, today)
	if err != nil || q.From.Format(time.DateOnly) != "2026-11-01" || q.To.Format(time.DateOnly) != "2026-11-15" || q.By != nil {
		t.Errorf("by default %+v, %v", q, err)
	}
	for _, bad := range []Terms{
		{From: "yesterday"}, {To: "2026-13-01"}, {From: "2026-11-10", To: "2026-11-09"}, {From: "2025-01-01", To: "2026-11-01"},
		{GroupBy: "tenant,tenant"}, {GroupBy: "model,model"}, {GroupBy: "tag:"}, {GroupBy: "model,"}, {GroupBy: "moon"},
		{Lane: "fast"}, {Tag: "team"}, {Top: "0"}, {Top: "101"}, {Top: "many"},
	} {
		if _, err := Read(bad, today); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func write(t *testing.T, b books, terms Terms, f Format) string {
	t.Helper()
	q, err := Read(terms, today)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := New(b).Write(t.Context(), Scope{Tenants: []penstock.TenantID{"a"}, Query: q}, f, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestReport(t *testing.T) {
	t.Parallel()
	b := books{"a": {spent("fast", "x", 100), spent("fast", "y", 20), spent("slow", "x", 3)}}
	if got := write(t, b, Terms{GroupBy: "tenant"}, CSV); !strings.Contains(got, "\ngroup,a,") {
		t.Errorf("by tenant: %s", got)
	}
	for _, tt := range []struct {
		terms Terms
		want  string
	}{
		{Terms{From: "2026-11-15"}, "line,requests,input_tokens,cached_input_tokens,cache_write_tokens,output_tokens,reasoning_tokens,cache_write_1h_tokens,audio_input_tokens,audio_output_tokens,cost_usd,forfeit_usd\n" +
			"total,3,9,0,0,6,0,0,0,0,0.000000123,0.000000000\n"},
		{Terms{From: "2026-11-14", GroupBy: "day,tag:team"}, "line,day,tag:team,requests,input_tokens,cached_input_tokens,cache_write_tokens,output_tokens,reasoning_tokens,cache_write_1h_tokens,audio_input_tokens,audio_output_tokens,cost_usd,forfeit_usd\n" +
			"group,2026-11-14,x,2,6,0,0,4,0,0,0,0,0.000000103,0.000000000\ngroup,2026-11-14,y,1,3,0,0,2,0,0,0,0,0.000000020,0.000000000\n" +
			"group,2026-11-15,x,2,6,0,0,4,0,0,0,0,0.000000103,0.000000000\ngroup,2026-11-15,y,1,3,0,0,2,0,0,0,0,0.000000020,0.000000000\n" +
			"total,,,6,18,0,0,12,0,0,0,0,0.000000246,0.000000000\n"},
	} {
		if got := write(t, b, tt.terms, CSV); got != tt.want {
			t.Errorf("%+v:\n%s\nwant\n%s", tt.terms, got, tt.want)
		}
	}
	var r Report
	text := write(t, b, Terms{GroupBy: "model,tag"}, JSON)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(r.Data) != 3 || *r.Data[0].Model != "fast" || r.Data[0].Tags["team"] != "x" || r.Data[0].Key != nil || r.Total.Cost != 123 || r.From != "2026-11-01" {
		t.Errorf("the report is %s", text)
	}
	if empty := write(t, books{}, Terms{GroupBy: "key"}, JSON); !strings.Contains(empty, `"data":[],"total":{"requests":0`) {
		t.Errorf("of nobody: %s", empty)
	}
}

// TestTopGroups reports the dearest groups, and the rest in one line.
func TestTopGroups(t *testing.T) {
	t.Parallel()
	b := books{"a": {spent("fast", "x", 20), spent("slow", "x", 3), spent("tiny", "y", 1)}, "b": {spent("slow", "x", 30)}}
	report := func(terms Terms, merged bool) (lines []string) {
		q, err := Read(terms, today)
		if err != nil {
			t.Fatal(err)
		}
		total, err := New(b).Report(t.Context(), Scope{Tenants: []penstock.TenantID{"a", "b"}, Merged: merged, Query: q}, func(g Group) error {
			lines = append(lines, fmt.Sprintf("%s %t %d", strings.Join(g.Values, "/"), g.Other, g.Cost))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return append(lines, fmt.Sprint(int64(total.Cost)))
	}
	for _, tt := range []struct {
		terms  Terms
		merged bool
		want   []string
	}{
		{Terms{From: "2026-11-15", GroupBy: "model"}, true, []string{"fast false 20", "slow false 33", "tiny false 1", "54"}},
		{Terms{From: "2026-11-15", GroupBy: "model", Top: "1"}, true, []string{"slow false 33", " true 21", "54"}},
		{Terms{From: "2026-11-14", GroupBy: "day,model", Top: "2"}, true, []string{"2026-11-14/fast false 20", "2026-11-14/slow false 33", "2026-11-14/ true 1", "2026-11-15/fast false 20", "2026-11-15/slow false 33", "2026-11-15/ true 1", "108"}},
		{Terms{From: "2026-11-15", GroupBy: "tenant,model", Top: "2"}, false, []string{"a/fast false 20", "b/slow false 30", "/ true 4", "54"}},
		{Terms{From: "2026-11-15", GroupBy: "model", Tag: "team:y"}, true, []string{"tiny false 1", "1"}},
		{Terms{From: "2026-11-15", Tag: "team:nobody"}, true, []string{"0"}},
	} {
		if got := report(tt.terms, tt.merged); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.terms, got, tt.want)
		}
	}
	csv := write(t, b, Terms{From: "2026-11-15", GroupBy: "model", Top: "1"}, CSV)
	if !strings.Contains(csv, "\nother,,2,") {
		t.Errorf("the sheet is %s", csv)
	}
	if text := write(t, b, Terms{From: "2026-11-15", GroupBy: "model", Top: "1"}, JSON); !strings.Contains(text, `{"other":true,"requests":2`) || !strings.Contains(text, `"as_of":"2026-11-15T09:00:00Z"`) {
		t.Errorf("the report is %s", text)
	}
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	b := books{"a": make([]store.Spending, MaxGroups+1)}
	q, _ := Read(Terms{GroupBy: "key"}, today)
	var out bytes.Buffer
	begun, err := New(b).Write(t.Context(), Scope{Tenants: []penstock.TenantID{"a"}, Query: q}, JSON, &out)
	if penstock.ErrorCode(err) != penstock.CodeTooLarge || begun || out.Len() > 0 {
		t.Errorf("%v, begun %t, %s", err, begun, out.String())
	}
}
