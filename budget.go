package penstock

import (
	"fmt"
	"strings"
	"time"
)

// Period is the time after which the spending of a budget starts at zero again.
type Period string

// The periods.
const (
	PeriodDaily   Period = "daily"   // a day of UTC
	PeriodMonthly Period = "monthly" // a month of UTC
	PeriodTotal   Period = "total"   // for good
)

// Start is the beginning of the period that contains a moment; the zero time for a period without a beginning.
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

// End is the beginning of the period after the period that contains a moment; the zero time for a period without an end.
func (p Period) End(now time.Time) time.Time {
	switch start := p.Start(now); p {
	case PeriodDaily:
		return start.AddDate(0, 0, 1)
	case PeriodMonthly:
		return start.AddDate(0, 1, 0)
	}
	return time.Time{}
}

// Budget limits the spending of a tenant in a period: all of it, the spending of one key, the spending on one model, or
// the spending under one tag.
type Budget struct {
	Key    string  `json:"key,omitempty"`   // "" for all keys
	Model  string  `json:"model,omitempty"` // "" for all models
	Tag    string  `json:"tag,omitempty"`   // as key:value; "" for all work, tagged or not
	Period Period  `json:"period"`
	Limit  NanoUSD `json:"limit_usd"`
	// Hard refuses work that could exceed the budget. A soft budget only warns.
	Hard bool `json:"hard,omitempty"`
	// Name is the name of a budget that Penstock adds itself, in the words of messages; "" for one that the other fields name.
	Name string `json:"-"`
}

// Covers reports whether the spending of a key on a model, under some tags, counts against the budget.
func (b *Budget) Covers(key string, model ModelNames, tags map[string]string) bool {
	return (b.Key == "" || b.Key == key) && (b.Model == "" || b.Model == model.Asked || b.Model == model.Answers) && (b.Tag == "" || b.tagged(tags))
}

func (b *Budget) tagged(tags map[string]string) bool {
	name, value, _ := strings.Cut(b.Tag, ":")
	got, ok := tags[name]
	return ok && got == value
}

// ModelNames are the names of a model: the requested name, and the name of the model that answers. They differ if a
// fallback answers. Both count, so that a fallback does not evade a budget.
type ModelNames struct{ Asked, Answers string }

// String names the budget to its tenant.
func (b Budget) String() string {
	if b.Name != "" {
		return b.Name
	}
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
	if b.Tag != "" {
		s += fmt.Sprintf(" for tag %s", b.Tag)
	}
	return s
}

// Funding is the source of the money for a synchronous call: money that a process withdrew from budgets in advance.
type Funding struct {
	Process string
	Epoch   int64
	Budgets []ID // none for a call that no budget covers
}
