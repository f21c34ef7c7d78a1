package sim

import (
	"net/http"
	"strings"
	"testing"
)

// As Bedrock, the simulator honours or refuses thinking, effort and images.
func TestConverseFields(t *testing.T) {
	t.Parallel()
	server := newServer(t, Config{OutputTokens: 3})
	converse := func(fields, block string) (int, string) {
		r := newRequest(t.Context(), converseTestPath, `{"messages":[{"role":"user","content":[`+block+`]}]`+fields+`}`)
		r.Header.Set("Authorization", "Bearer any")
		w := do(server, r)
		return w.Code, w.Body.String()
	}
	const text, image = `{"text":"Hi"}`, `{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}}`
	for fields, want := range map[string]string{ // the tokens of thoughts and text, or a part of the error
		``: `"outputTokens":3,`,
		`,"additionalModelRequestFields":{"thinking":{"type":"adaptive"}}`:                                                       `"outputTokens":35,`,
		`,"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}`:                      `"outputTokens":11,`,
		`,"additionalModelRequestFields":{"thinking":{"type":"adaptive"}},"outputConfig":{"effort":"medium"}`:                    `"outputTokens":19,`,
		`,"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}}`:                                   `"outputTokens":19,`,
		`,"additionalModelRequestFields":{"thinking":{"type":"disabled"}}`:                                                       `"outputTokens":3,`,
		`,"additionalModelRequestFields":{"thinking":{"type":"banana"}}`:                                                         "thinking.type",
		`,"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"zz"}}`:                       "output_config.effort",
		`,"outputConfig":{"effort":"zz"}`:                                                                                        "output_config.effort",
		`,"additionalModelRequestFields":{"thinking":{"type":"enabled"}}`:                                                        "budget_tokens",
		`,"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2000}},"inferenceConfig":{"maxTokens":9}`: "max_tokens",
	} {
		status, body := converse(fields, text)
		refused := !strings.HasPrefix(want, `"outputTokens"`)
		if !strings.Contains(body, want) || (status == http.StatusBadRequest) != refused {
			t.Errorf("%s: %d %s, want %s", fields, status, body, want)
		}
	}
	for block, want := range map[string]int{
		image: 200, strings.Replace(image, "png", "bmp", 1): 400, strings.Replace(image, "iVBOR", "!!!", 1): 400,
	} {
		if status, body := converse("", block); status != want || want == 400 && !strings.Contains(body, "ValidationException") {
			t.Errorf("%s: %d %s", block, status, body)
		}
	}
}
