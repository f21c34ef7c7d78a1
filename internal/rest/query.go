package rest

import (
	"net/url"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/config"
)

// sdkQuery are parameters that official SDKs send in addition to those of a route, and that have no effect: Anthropic's
// beta parameter, Azure's version, and OpenAI's include parameter.
var sdkQuery = []string{"api-version", "beta", "include", "include_obfuscation"}

// sdkPaths are the paths that official SDKs call.
var sdkPaths = []string{"/v1/chat/", "/v1/completions", "/v1/embeddings", "/v1/rerank", "/v2/rerank", "/v1/responses", "/v1/conversations", "/v1/messages", "/v1/models", "/v1/files", "/v1/batches"}

// CheckQuery refuses a query with a parameter that the route does not have: a misspelt parameter would otherwise be ignored
// silently. Codes: invalid_request.
func (rt *Route) CheckQuery(query string) error {
	if query == "" || rt.AnyQuery {
		return nil
	}
	var known []string
	for _, p := range rt.Params {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	return CheckQuery(query, known, rt.sdkQuery())
}

func (rt *Route) sdkQuery() []string {
	if slices.ContainsFunc(sdkPaths, func(prefix string) bool { return strings.HasPrefix(rt.Path, prefix) }) {
		return sdkQuery
	}
	return nil
}

// CheckQuery refuses a query with a parameter that is neither known nor ignored, and names the one that was probably
// meant. Codes: invalid_request.
func CheckQuery(query string, known, ignored []string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return penstock.Errorf(penstock.CodeInvalidRequest, "The query of the URL cannot be read: %v.", err)
	}
	for name := range values {
		plain, _, _ := strings.Cut(name, "[") // lists are sent as name[] and name[0]
		if slices.Contains(known, name) || slices.Contains(ignored, plain) {
			continue
		}
		return unknownParam(name, known)
	}
	return nil
}

func unknownParam(name string, known []string) error {
	const shown = 64
	name = strings.ToValidUTF8(name[:min(len(name), shown)], "")
	if hint := config.Suggest(name, known); hint != "" {
		return penstock.InvalidParam(name, "Unknown query parameter %q%s", name, hint)
	}
	if len(known) == 0 {
		return penstock.InvalidParam(name, "Unknown query parameter %q; this endpoint has no query parameters.", name)
	}
	return penstock.InvalidParam(name, "Unknown query parameter %q; the parameters are %s.", name, strings.Join(slices.Sorted(slices.Values(known)), ", "))
}
