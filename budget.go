package penstock

import (
	"fmt"
	"time"
)

// Period is how long a budget lasts before it begins anew.
type Period string

// The periods.
const (
	PeriodDaily   Period = "daily"   // a day of UTC
	PeriodMonthly Period = "monthly" // a month of UTC
	PeriodTotal   Period = "total"   // for good
)

// Start is when the period began that a moment lies in; the zero time for one without a beginning.
func (p Period) Start(now time.Time) time.Time {
	now = now.UTC()
	switch p {
	case PeriodDaily:
		return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	case PeriodMonthly:
		return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// Budget bounds what a tenant may spend in a period: all of it, or what one of its keys spends, or what is
// spent on one model.
type Budget struct {
	Key    string  `json:"key,omitempty"`   // "" for all keys
	Model  string  `json:"model,omitempty"` // "" for all models
	Period Period  `json:"period"`
	Limit  NanoUSD `json:"limit_usd"`
	// Hard refuses what could exceed it. A soft one only warns.
	Hard bool `json:"hard,omitempty"`
}

// Covers says whether what a key spends on a model counts against the budget.
func (b *Budget) Covers(key string, model ModelNames) bool {
	return (b.Key == "" || b.Key == key) && (b.Model == "" || b.Model == model.Asked || b.Model == model.Answers)
}

// ModelNames are the names of a model: the one that was asked for, and that of the model which answers for it. They
// differ where a fallback does, which must not be a way around its budget.
type ModelNames struct{ Asked, Answers string }

// String names the budget to its tenant.
func (b Budget) String() string {
	s := string(b.Period) + " budget"
	if b.Period == PeriodTotal {
		s = "budget"
	}
	if b.Key != "" {
		s += fmt.Sprintf(" of key %s", b.Key)
	}
	if b.Model != "" {
		s += fmt.Sprintf(" for model %s", b.Model)
	}
	return s
}

// Funding is what a synchronous call was paid from: money that a process withdrew from budgets beforehand.
type Funding struct {
	Process string
	Epoch   int64
	Budgets []ID // none for a call that no budget covers
}
