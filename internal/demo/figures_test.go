package demo_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"penstock/internal/demo"
	"penstock/internal/rollup"
)

// checkFigures checks that a day of the past can be drawn: calls in most hours, and a day before to compare with.
func checkFigures(t *testing.T, r running) {
	t.Helper()
	state, err := demo.Open(r.data)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.api+"/v1/overview?window=day", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+state.Secret("northwind-support", "helpdesk"))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var v rollup.Overview
	if err := json.NewDecoder(answer.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	drawn := 0
	for _, value := range v.RequestsPerSecond.Series {
		if value != nil && *value > 0 {
			drawn++
		}
	}
	if drawn < 12 || v.RequestsPerSecond.Previous == nil || *v.RequestsPerSecond.Previous == 0 || v.SuccessRate.Previous == nil {
		t.Errorf("%d steps of the day have calls: %+v", drawn, v.RequestsPerSecond)
	}
}
