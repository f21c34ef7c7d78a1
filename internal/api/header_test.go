package api

import (
	"net/http"
	"testing"

	"penstock"
)

func TestHeadersThatLookLikeOurs(t *testing.T) {
	t.Parallel()
	const all = "; the headers of Penstock are x-penstock-cache, x-penstock-fallback, x-penstock-prompt, x-penstock-prompt-variables, x-penstock-subject, x-penstock-tags, x-penstock-targets, x-penstock-timeout, x-penstock-window."
	for name, want := range map[string]string{
		"x-penstock-tags":      "",
		"X-Penstock-Timeout":   "",
		"x-penstock-window":    "",
		"Penstock-Version":     "",
		"Penstock-Challenge":   "",
		"OpenAI-Project":       "",
		"X-Request-Id":         "",
		"X-Penstock-Tag":       `Unknown header "x-penstock-tag"; did you mean "x-penstock-tags"?`,
		"Penstock-Tags":        `Unknown header "penstock-tags"; did you mean "x-penstock-tags"?`,
		"x-penstock-fallbacks": `Unknown header "x-penstock-fallbacks"; did you mean "x-penstock-fallback"?`,
		"X-Penstock-Team":      `Unknown header "x-penstock-team"; did you mean "x-penstock-tags"?`,
		"X-Penstock-Budget":    `Unknown header "x-penstock-budget"` + all,
	} {
		h := http.Header{}
		h.Set(name, "x")
		got := ""
		if err := checkHeaders(h, penstock.PrincipalKey); err != nil {
			got = penstock.AsError(err).Message
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
