package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// budgetMetrics count what budgets did to calls and jobs.
type budgetMetrics struct {
	refused, warned *prometheus.CounterVec
}

func newBudgetMetrics(factory promauto.Factory) budgetMetrics {
	return budgetMetrics{
		refused: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_budget_refusals_total",
			Help: "Calls and jobs that were refused because they could have exceeded a hard budget.",
		}, []string{"tenant"}),
		warned: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_budget_warnings_total",
			Help: "Calls and jobs that were admitted although a soft budget is used up.",
		}, []string{"tenant"}),
	}
}

// BudgetRefused counts work that a hard budget had too little left for.
func (m *Metrics) BudgetRefused(tenant string) {
	m.budget.refused.WithLabelValues(m.tenants.Value(tenant)).Inc()
}

// BudgetWarned counts work that a soft budget has a warning for.
func (m *Metrics) BudgetWarned(tenant string) {
	m.budget.warned.WithLabelValues(m.tenants.Value(tenant)).Inc()
}
