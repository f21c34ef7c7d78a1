package admin

import (
	"strings"
	"testing"

	"penstock/internal/config"
	"penstock/internal/store"
)

// The API takes both spellings of a tag, stores one, and refuses both at once.
func TestTagBudgetsHaveOneForm(t *testing.T) {
	t.Parallel()
	five := config.Budget{Total: "5"}
	var record store.TenantRecord
	sent := map[string]config.Budget{"team=search": five, "site:a=b": five}
	if err := (allowanceFields{TagBudgets: &sent}).applyTags(&record); err != nil || len(record.Budgets) != 2 {
		t.Fatalf("%v: %+v", err, record.Budgets)
	}
	if got := tagBudgets(record.Budgets); got["team:search"] != five || got["site:a=b"] != five {
		t.Errorf("%+v", got)
	}
	sent["team:search"] = five
	if err := (allowanceFields{TagBudgets: &sent}).applyTags(&record); err == nil || !strings.Contains(err.Error(), "team:search twice") {
		t.Errorf("both spellings: %v", err)
	}
}
