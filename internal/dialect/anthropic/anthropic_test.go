package anthropic

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"penstock"
)

func TestReadMessage(t *testing.T) {
	t.Parallel()
	text := `{"model":"fast","max_tokens":7,"stream":true,"x_unknown":[1, 2]}`
	got, err := ReadMessage([]byte(text))
	if err != nil || got.Model != "fast" || got.MaxOutputTokens != 7 || !got.Stream || got.Choices != 1 || got.Silent || string(got.Object.Text) != text {
		t.Errorf("%+v, %v", got, err)
	}
	for body, param := range map[string]string{
		`[]`: "body", `{"model":1}`: "model", `{"stream":"yes"}`: "stream", `{"max_tokens":-1}`: "max_tokens", `{"max_tokens":16777217}`: "max_tokens",
	} {
		if _, err := ReadMessage([]byte(body)); err == nil || penstock.AsError(err).Param != param {
			t.Errorf("%s: %v, want a complaint about %s", body, err, param)
		}
	}
}

func TestReadCount(t *testing.T) {
	t.Parallel()
	if got, err := ReadCount([]byte(`{"model":"fast","messages":[]}`)); err != nil || got.Model != "fast" || !got.Silent {
		t.Errorf("%+v, %v", got, err)
	}
	for body, param := range map[string]string{`{"model":"fast"}`: "messages", `{"messages":null}`: "messages", `{"model":[],"messages":[]}`: "model"} {
		if _, err := ReadCount([]byte(body)); err == nil || penstock.AsError(err).Param != param {
			t.Errorf("%s: %v, want a complaint about %s", body, err, param)
		}
	}
}

// Every code has a type that the dialect knows.
func TestErrorTypes(t *testing.T) {
	t.Parallel()
	known := []string{"invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error",
		"request_too_large", "rate_limit_error", "timeout_error", "api_error", "overloaded_error"}
	used := map[string]bool{}
	for _, code := range penstock.Codes {
		got := ErrorType(code)
		if used[got] = true; !slices.Contains(known, got) {
			t.Errorf("%s is a %s, which the dialect does not know", code, got)
		}
		// What SDKs try again by its class must be what may be tried again.
		if again := got == "overloaded_error" || got == "rate_limit_error"; again && !code.Retryable() {
			t.Errorf("%s is a %s, but sending it again is in vain", code, got)
		}
	}
	if len(used) != len(known) {
		t.Errorf("only %d of %d types are in use", len(used), len(known))
	}
}

// Walking the pages in either direction shows every model once.
func TestPagesHoldEveryModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,3}`), rapid.ID[string]).Draw(t, "names")
		slices.Sort(names)
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		var forward, backward []string
		for p := (Page{Limit: limit}); ; {
			got := NewModelPage(names, p)
			forward = append(forward, ids(got)...)
			if !got.HasMore {
				break
			}
			p.AfterID = *got.LastID
		}
		for p := (Page{Limit: limit, BeforeID: "~"}); ; {
			got := NewModelPage(names, p)
			backward = append(ids(got), backward...)
			if !got.HasMore {
				break
			}
			p.BeforeID = *got.FirstID
		}
		if !slices.Equal(forward, names) || !slices.Equal(backward, names) {
			t.Fatalf("%q became %q and %q", names, forward, backward)
		}
	})
}

func ids(p ModelPage) []string {
	all := make([]string, len(p.Data))
	for i, m := range p.Data {
		all[i] = m.ID
	}
	return all
}
