package config

import (
	"strings"
	"testing"

	"penstock"
)

// A tag has one written form; files with the other form mean the same.
func TestTagBudgetsHaveOneForm(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{"team:search": "team:search", "team=search": "team:search", "note:x=y": "note:x=y"} {
		s, err := Parse("p.yaml", []byte(`tenants: {a: {tag_budgets: {"`+written+`": {total_usd: "5"}}}}`), Pretend(nil))
		if err != nil {
			t.Fatal(err)
		}
		budgets := s.Tenants["a"].Budgets
		if len(budgets) != 1 || budgets[0].Tag != want {
			t.Errorf("%s: %+v", written, budgets)
		}
		key, value, _ := penstock.CutTag(want)
		if !budgets[0].Covers("", penstock.ModelNames{}, map[string]string{key: value}) {
			t.Errorf("%s does not cover %s and %s", written, key, value)
		}
	}
	_, err := Parse("p.yaml", []byte(`tenants: {a: {tag_budgets: {"team:search": {total_usd: "5"}, "team=search": {total_usd: "6"}}}}`), Pretend(nil))
	if err == nil || !strings.Contains(err.Error(), `is the same tag as "team:search"`) {
		t.Errorf("one tag twice: %v", err)
	}
}
