package app

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// limitsView are the limits of a tenant, in the words of the configuration file.
type limitsView struct {
	penstock.Limits
	EnqueuedTokens int64                      `json:"enqueued_tokens,omitempty"`
	StoredBytes    int64                      `json:"stored_bytes,omitempty"`
	Models         map[string]penstock.Limits `json:"models,omitempty"`
}

// allowanceFields is what an operator says about what a tenant may use and spend. What is left out stays; {} removes
// a limit or a budget.
type allowanceFields struct {
	Limits       *limitsView               `json:"limits"`
	Budget       *config.Budget            `json:"budget"`
	ModelBudgets *map[string]config.Budget `json:"model_budgets"`
}

// apply edits a tenant by what was said. Codes: invalid_request.
func (f allowanceFields) apply(t *store.TenantRecord) error {
	if l := f.Limits; l != nil {
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
	if f.Budget != nil {
		budgets, err := f.Budget.Of(penstock.Budget{}, "budget")
		if err != nil {
			return err
		}
		t.Budgets = slices.Concat(budgets, only(t.Budgets, func(b penstock.Budget) bool { return b.Model != "" }))
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
	return nil
}

// only are the budgets that are to stay.
func only(all []penstock.Budget, stays func(penstock.Budget) bool) []penstock.Budget {
	return slices.DeleteFunc(slices.Clone(all), func(b penstock.Budget) bool { return !stays(b) })
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
			found[b.Model] = config.BudgetOf(all, "", b.Model)
		}
	}
	return found
}

// keyAllowance is what an operator says about what a key may use and spend.
type keyAllowance struct {
	Limits *penstock.Limits `json:"limits"`
	Budget *config.Budget   `json:"budget"`
}

// apply edits a key by what was said. Codes: invalid_request.
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

// changeKey changes what a key may use and spend.
func (a *app) changeKey(w http.ResponseWriter, r *http.Request) {
	var key drawnKey
	var said keyAllowance
	id, err := keyID(r.PathValue("key"))
	var c store.Condition
	if err == nil {
		c, err = condition(r)
	}
	if err == nil {
		err = adminBody(r, &said)
	}
	if err == nil {
		key.APIKey, err = a.store.ChangeKey(r.Context(), store.KeyChange{ID: id, Condition: c, Apply: said.apply})
	}
	a.answerKey(w, r, keyOutcome{key, c, err, http.StatusOK})
}

// budgetView is a budget in its current period, and what it comes to.
type budgetView struct {
	Object     string             `json:"object"`
	Tenant     penstock.TenantID  `json:"tenant"`
	Key        *string            `json:"key"`   // null for all keys
	Model      *string            `json:"model"` // null for all models
	Source     store.TenantSource `json:"source"`
	Period     penstock.Period    `json:"period"`
	StartsAt   *time.Time         `json:"starts_at"` // of the current period; null for one without a beginning
	Hard       bool               `json:"hard"`
	LimitUSD   penstock.NanoUSD   `json:"limit_usd"`
	SpentUSD   penstock.NanoUSD   `json:"spent_usd"`
	HeldUSD    penstock.NanoUSD   `json:"held_usd"` // set aside for what runs or waits
	LeftUSD    penstock.NanoUSD   `json:"left_usd"`
	ExceededAt *time.Time         `json:"exceeded_at"` // when a soft one was used up
}

// listBudgets tells how the budgets of a tenant stand: ?tenant=.
func (a *app) listBudgets(w http.ResponseWriter, r *http.Request) {
	id := penstock.TenantID(r.URL.Query().Get("tenant"))
	if id == "" {
		a.adminError(w, r, penstock.InvalidParam("tenant", "tenant is missing; say whose budgets to list."))
		return
	}
	t, ok := a.directory.Tenant(id)
	if !ok {
		a.adminError(w, r, penstock.Errorf(penstock.CodeNotFound, "There is no tenant %q that may call.", id))
		return
	}
	accounts := make([]store.Account, len(t.Budgets))
	for i, b := range t.Budgets {
		accounts[i] = store.Account{Budget: b, Start: b.Period.Start(time.Now())}
	}
	balances, err := a.store.Balances(r.Context(), id, accounts)
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	_, declared := a.live.Current().Tenants[id]
	fromFile := map[penstock.Budget]bool{}
	for _, b := range a.live.Current().Tenants[id].Budgets {
		fromFile[b] = declared
	}
	data := make([]budgetView, len(accounts))
	for i, account := range accounts {
		b := balances[i]
		data[i] = budgetView{
			Object: "budget", Tenant: id, Key: named(account.Key), Model: named(account.Model), Source: store.SourceAPI, Period: account.Period,
			StartsAt: moment(account.Start), Hard: account.Hard, LimitUSD: b.Limit, SpentUSD: b.Settled, HeldUSD: b.Held, LeftUSD: b.Left(),
			ExceededAt: moment(b.ExceededAt),
		}
		if fromFile[account.Budget] {
			data[i].Source = store.SourceFile
		}
	}
	adminJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "has_more": false})
}

// named is a name unless there is none.
func named(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}
