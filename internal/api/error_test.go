package api

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"penstock"
	"penstock/internal/rest"
)

// An error that says when to try again is retryable, in every field and header of every dialect; retryable 429 and 503 always
// say when.
func TestRetryAfterImpliesRetryable(t *testing.T) {
	t.Parallel()
	for _, code := range penstock.Codes {
		for _, after := range []time.Duration{0, 1500 * time.Millisecond} {
			for _, final := range []bool{false, true} {
				for dialect, words := range map[string]*rest.Wording{"openai": &rest.Usual, "responses": &responsesWording, "anthropic": &anthropicWording} {
					name := fmt.Sprintf("%s, %v, final %v, %s", code, after, final, dialect)
					checkRetry(t, name, answerTo(&penstock.Error{Code: code, Message: "no", RetryAfter: after}, final, words))
				}
			}
		}
	}
}

func answerTo(e *penstock.Error, final bool, words *rest.Wording) *httptest.ResponseRecorder {
	rec, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/jobs", nil)
	table, _ := rest.New(rest.Config{Realm: "penstock", Log: slog.New(slog.DiscardHandler)})
	c := rest.NewCall(table, rec, r)
	c.Words, c.Final = words, final
	c.Fail(e)
	return rec
}

func checkRetry(t *testing.T, name string, rec *httptest.ResponseRecorder) {
	t.Helper()
	var body struct {
		Error struct {
			Retryable    bool   `json:"retryable"`
			RetryAfterMS *int64 `json:"retry_after_ms"`
		} `json:"error"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	h := rec.Header()
	says := h.Get("Retry-After") != "" || h.Get("retry-after-ms") != "" || body.Error.RetryAfterMS != nil
	if says && (!body.Error.Retryable || h.Get("x-should-retry") != "true") {
		t.Errorf("%s: it says when to come back (%s s) and that it is in vain: %s", name, h.Get("Retry-After"), rec.Body)
	}
	if h.Get("x-should-retry") != fmt.Sprint(body.Error.Retryable) || (h.Get("Retry-After") != "") != (body.Error.RetryAfterMS != nil) {
		t.Errorf("%s: header and body disagree: %v %s", name, h, rec.Body)
	}
	if busy := rec.Code == http.StatusTooManyRequests || rec.Code == http.StatusServiceUnavailable; busy && body.Error.Retryable && !says {
		t.Errorf("%s: it does not say when", name)
	}
}
