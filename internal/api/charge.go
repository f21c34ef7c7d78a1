package api

import (
	"net/http"
	"strings"
)

// headerBudget warns that a soft budget is used up.
const headerBudget = "x-penstock-budget-warning"

func tellBudgets(h http.Header, warnings []string) {
	if len(warnings) > 0 {
		h.Set(headerBudget, strings.Join(warnings, "; "))
	}
}
