package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"penstock/internal/provider"
)

// What comes with a bad status is in the conformance test; these are errors inside a good answer.
func TestComplaintsInsideGoodAnswers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]provider.Kind{
		`{"error":{"message":"x","code":429}}`:                                             provider.KindRateLimited,
		`{"error":{"message":"x","code":"502"}}`:                                           provider.KindServer,
		`{"error":{"message":"x","code":503}}`:                                             provider.KindOverloaded,
		`{"error":{"message":"x","code":400}}`:                                             provider.KindRejected,
		`{"error":{"message":"x","code":401}}`:                                             provider.KindAuth,
		`{"error":{"message":"x","code":402}}`:                                             provider.KindSpendCap,
		`{"error":{"message":"x","code":408}}`:                                             provider.KindTimeout,
		`{"error":{"message":"x","code":200}}`:                                             provider.KindServer,
		`{"error":{"message":"x","type":"insufficient_quota","code":429}}`:                 provider.KindSpendCap,
		`{"error":{"message":"x","type":"rate_limit_error"}}`:                              provider.KindRateLimited,
		`{"error":{"message":"x","type":"invalid_request_error"}}`:                         provider.KindRejected,
		`{"error":{"message":"x","type":"invalid_request_error","code":"content_filter"}}`: provider.KindContentBlocked,
		`{"error":{"message":"x","type":"server_error","code":"server_error"}}`:            provider.KindServer,
		`{"error":{"message":"x","type":"overloaded_error"}}`:                              provider.KindOverloaded,
		`{"error":{"message":"Your prompt exceeds the context window of the model"}}`:      provider.KindContextTooLong,
		`{"error":{"message":7,"code":{}}}`:                                                provider.KindServer,
		`{"error":"out of memory"}`:                                                        provider.KindServer,
		`{"error":[1]}`:                                                                    provider.KindServer,
		`{"error":{}}`:                                                                     provider.KindServer,
		`{"object":"error","message":"x","type":"BadRequestError","code":400}`:             provider.KindRejected,
	} {
		if got := parseComplaint(http.StatusOK, []byte(body)).kind(); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
		_, plain := receiveFrom(t, "application/json", strings.NewReader(body), plainCall())
		_, streamed := receiveFrom(t, "text/event-stream", strings.NewReader("data: "+body+"\n\n"), streamCall())
		for _, err := range []error{plain, streamed} {
			if e := provider.AsError(err); e.Kind != want || e.StatusCode != http.StatusOK || e.Message == "" {
				t.Errorf("%s: %v", body, err)
			}
		}
	}
}

func TestEveryStatusHasAKind(t *testing.T) {
	t.Parallel()
	for status := 300; status < 600; status++ {
		kind := parseComplaint(status, nil).kind()
		if !slices.Contains(provider.Kinds, kind) {
			t.Errorf("%d: kind %q", status, kind)
		}
		if permanent := !kind.Policy().Retry && !kind.Policy().Fallback; permanent && status/100 != 4 {
			t.Errorf("%d is taken for the caller's fault", status)
		}
	}
}

// Some servers word a limit per minute like used up money. Only a code may end a job for good.
func TestProseAloneIsNoSpendCap(t *testing.T) {
	t.Parallel()
	c := parseComplaint(429, []byte(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED",`+
		`"message":"You exceeded your current quota, please check your plan and billing details."}}`))
	if got := c.kind(); got != provider.KindRateLimited {
		t.Errorf("kind %s", got)
	}
}

// A key that JSON writes in another way is still our key.
func TestKeysAreScrubbed(t *testing.T) {
	t.Parallel()
	const key = "sk/secret"
	for _, body := range []string{
		`{"error":{"message":"bad key sk/secret!","code":"x"}}`,
		`{"error":{"message":"bad key sk\/secret!","code":"x"}}`,
		`{"error":{"message":"bad","param":"sk/secret"}}`,
		`{"error":"` + strings.Repeat("sk/secret ", 1000) + `"}`,
	} {
		for _, status := range []int{200, 400, 401, 500} {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				io.WriteString(w, body)
			}))
			_, err := newProvider(t, Config{BaseURL: up.URL, APIKey: key}).Call(t.Context(), plainCall())
			e := provider.AsError(err)
			for _, said := range []string{e.Error(), strings.ReplaceAll(string(e.Body), `\/`, "/")} {
				if e.StatusCode != status || strings.Contains(said, key) {
					t.Errorf("%d %.60s: the key is in %.200q", status, body, said)
				}
			}
			up.Close()
		}
	}
}
