package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"penstock"
)

// An endpoint that does not exist is answered with the endpoint that the caller may have meant, and with no wrong claim.
func TestHintsForUnknownEndpoints(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	for _, pattern := range []string{"POST /v1/messages", "POST /v1/responses", "GET /v1/responses/{id}", "GET /v1/jobs/{id}", "POST /v1/chat/completions", "/"} {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	for request, want := range map[[2]string]string{
		{"POST", "/v1/responses/compact"}: "There is no endpoint POST /v1/responses/compact; GET /v1/responses/{id} exists.",
		{"PATCH", "/v1/jobs/job_1"}:       "There is no endpoint PATCH /v1/jobs/job_1; GET /v1/jobs/{id} exists.",
		{"GET", "/v1/messages"}:           "There is no endpoint GET /v1/messages; POST /v1/messages exists.",
		{"POST", "/messages"}:             "There is no endpoint POST /messages; did you mean /v1/messages? End the base URL of this client with /v1.",
		{"POST", "/v1/v1/messages"}:       "There is no endpoint POST /v1/v1/messages; did you mean /v1/messages? Leave /v1 out of the base URL of this client.",
		{"POST", "/v1/message"}:           "There is no endpoint POST /v1/message; did you mean /v1/messages?",
		{"POST", "/v1/moderations"}:       "There is no endpoint POST /v1/moderations; GET /openapi.json lists the endpoints.",
	} {
		err := noRoute(mux, httptest.NewRequestWithContext(t.Context(), request[0], request[1], nil))
		if e := penstock.AsError(err); e.Code != penstock.CodeNotFound || e.Message != want {
			t.Errorf("%s %s: %q, want %q", request[0], request[1], e.Message, want)
		}
	}
}
