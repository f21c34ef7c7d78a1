package rest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"penstock"
)

func TestOpenAPIOperationIDs(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"GET /v1/jobs":              "getJobs",
		"POST /v1/jobs/{id}/cancel": "postJobCancel",
		"GET /v1/dead_letters":      "getDeadLetters",
		"POST /v1/jobs/{id}/retry":  "postJobRetry",
		"GET /v1/models/{model...}": "getModel",
		"GET /openapi.json":         "getOpenapiJson",
	} {
		method, path, _ := strings.Cut(path, " ")
		if got := operationID(method, path); got != want {
			t.Errorf("operationID(%s, %s) = %s, want %s", method, path, got, want)
		}
	}
}

func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	if got, want := slices.Sorted(maps.Keys(statuses)), slices.Sorted(slices.Values(penstock.Codes)); !slices.Equal(got, want) {
		t.Errorf("statuses has the codes %q, but there are %q", got, want)
	}
}
