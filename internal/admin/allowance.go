package admin

import (
	"maps"
	"slices"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// tenantLimits are the limits of a tenant, in the words of the configuration file.
type tenantLimits struct {
	penstock.Limits
	EnqueuedTokens int64                      `json:"enqueued_tokens,omitzero" about:"Tokens that the queued items of the tenant may have together, by their upper bounds."`
	StoredBytes    int64                      `json:"stored_bytes,omitzero" about:"Bytes that its jobs and files may have stored together."`
	Models         map[string]penstock.Limits `json:"models,omitzero" about:"Limits of its calls for one model."`
}

// allowanceFields are the limits and budgets of a tenant. A field that is left out does not change; {} removes a limit
// or a budget.
type allowanceFields struct {
	Limits       *tenantLimits             `json:"limits"`
	Budget       *config.Budget            `json:"budget"`
	ModelBudgets *map[string]config.Budget `json:"model_budgets"`
	TagBudgets   *map[string]config.Budget `json:"tag_budgets" about:"By key:value, such as team:search."`
}

// apply edits a tenant. Codes: invalid_request.
func (f allowanceFields) apply(t *store.TenantRecord) error {
	if l := f.Limits; l != nil {
		l.apply(t)
	}
	if f.Budget != nil {
		budgets, err := f.Budget.Of(penstock.Budget{}, "budget")
		if err != nil {
			return err
		}
		t.Budgets = slices.Concat(budgets, only(t.Budgets, func(b penstock.Budget) bool { return b.Model != "" || b.Tag != "" }))
	}
	if f.ModelBudgets != nil {
		t.Budgets = only(t.Budgets, func(b penstock.Budget) bool { return b.Model == "" })
		for _, model := range slices.Sorted(maps.Keys(*f.ModelBudgets)) {
			budgets, err := (*f.ModelBudgets)[model].Of(penstock.Budget{Model: model}, "model_budgets."+model)
			if err != nil {
				return err
			}
			t.Budgets = append(t.Budgets, budgets...)
		}
	}
	return f.applyTags(t)
}

func (f allowanceFields) applyTags(t *store.TenantRecord) error {
	if f.TagBudgets == nil {
		return nil
	}
	t.Budgets = only(t.Budgets, func(b penstock.Budget) bool { return b.Tag == "" })
	for _, tag := range slices.Sorted(maps.Keys(*f.TagBudgets)) {
		written := tag
		if key, value, ok := penstock.CutTag(tag); ok { // else the check of the tenant refuses it
			written = penstock.TagText(key, value)
		}
		if _, twice := (*f.TagBudgets)[written]; twice && written != tag {
			return penstock.InvalidParam("tag_budgets."+tag, "tag_budgets has %s twice, as key:value and as key=value; remove one of the two.", written)
		}
		budgets, err := (*f.TagBudgets)[tag].Of(penstock.Budget{Tag: written}, "tag_budgets."+tag)
		if err != nil {
			return err
		}
		t.Budgets = append(t.Budgets, budgets...)
	}
	return nil
}

func (l *tenantLimits) apply(t *store.TenantRecord) {
	t.Limits, t.EnqueuedTokens, t.StoredBytes, t.ModelLimits = withBurst(l.Limits), l.EnqueuedTokens, l.StoredBytes, nil
	for model, limits := range l.Models {
		if limits.None() {
			continue
		}
		if t.ModelLimits == nil {
			t.ModelLimits = map[string]penstock.Limits{}
		}
		t.ModelLimits[model] = withBurst(limits)
	}
}

// only are the budgets that are kept.
func only(all []penstock.Budget, kept func(penstock.Budget) bool) []penstock.Budget {
	return slices.DeleteFunc(slices.Clone(all), func(b penstock.Budget) bool { return !kept(b) })
}

// withBurst completes limits as the file does.
func withBurst(l penstock.Limits) penstock.Limits {
	if l.Burst == 0 && !l.None() {
		l.Burst = config.DefaultBurst
	}
	return l
}

// modelBudgets are those of a tenant's models, in the words of the configuration file.
func modelBudgets(all []penstock.Budget) map[string]config.Budget {
	found := map[string]config.Budget{}
	for _, b := range all {
		if b.Model != "" {
			found[b.Model] = config.BudgetOf(all, penstock.Budget{Model: b.Model})
		}
	}
	return found
}

// tagBudgets are those of a tenant's tags.
func tagBudgets(all []penstock.Budget) map[string]config.Budget {
	found := map[string]config.Budget{}
	for _, b := range all {
		if b.Tag != "" {
			found[b.Tag] = config.BudgetOf(all, penstock.Budget{Tag: b.Tag})
		}
	}
	return found
}

// keyAllowance are the limits and the budget of a key. A field that is left out does not change; {} removes the limits
// or the budget.
type keyAllowance struct {
	Limits *penstock.Limits `json:"limits"`
	Budget *config.Budget   `json:"budget"`
}

// apply edits a key. Codes: invalid_request.
func (f keyAllowance) apply(k *store.APIKey) (err error) {
	if f.Limits != nil {
		if k.Limits = withBurst(*f.Limits); k.Limits.None() {
			k.Limits = penstock.Limits{}
		}
		err = config.CheckLimits(k.Limits, "limits")
	}
	if f.Budget != nil && err == nil {
		k.Budgets, err = f.Budget.Of(penstock.Budget{Key: k.Name}, "budget")
	}
	return err
}
