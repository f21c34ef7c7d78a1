package api

import (
	"strings"
	"testing"

	"penstock"
)

// Every route of the table refuses a parameter that it does not have, and takes all that it has. Those that official SDKs
// call take what these send on their own.
func TestEveryRouteKnowsItsQuery(t *testing.T) {
	t.Parallel()
	for _, rt := range routes {
		name := rt.Method + " " + rt.Path
		err := rt.checkQuery("colour=red")
		if refused := penstock.ErrorCode(err) == penstock.CodeInvalidRequest && penstock.AsError(err).Param == "colour"; refused == rt.anyQuery {
			t.Errorf("%s?colour=red: %v", name, err)
		}
		for _, p := range rt.Params {
			if p.In != "query" {
				continue
			}
			if err := rt.checkQuery(p.Name + "=1"); err != nil {
				t.Errorf("%s?%s=1: %v", name, p.Name, err)
			}
			err := rt.checkQuery(p.Name + "s=1")
			if !rt.anyQuery && !strings.Contains(penstock.AsError(err).Message, `did you mean "`+p.Name+`"?`) {
				t.Errorf("%s?%ss=1: %v", name, p.Name, err)
			}
		}
		for _, sent := range []string{"beta=true", "api-version=2024-10-21", "include[]=reasoning.encrypted_content", "include%5B0%5D=x", "include=x&include=y"} {
			if err := rt.checkQuery(sent); (err == nil) != (rt.anyQuery || rt.sdkQuery() != nil) {
				t.Errorf("%s?%s: %v", name, sent, err)
			}
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/models"} {
		if (&route{Path: path}).sdkQuery() == nil {
			t.Errorf("%s refuses what SDKs send", path)
		}
	}
}

func TestCheckQuery(t *testing.T) {
	t.Parallel()
	known := []string{"limit", "after"}
	for query, want := range map[string]string{
		"":                               "",
		"limit=1&after=":                 "",
		"limt=1":                         `There is no query parameter "limt" here; did you mean "limit"?`,
		"shade=1":                        `There is no query parameter "shade" here; there are after, limit.`,
		"limit[]=1":                      `There is no query parameter "limit[]" here; did you mean "limit"?`,
		"%ff=1":                          `There is no query parameter "" here; there are after, limit.`,
		"a%zz=1":                         `The query of the URL cannot be read: invalid URL escape "%zz".`,
		strings.Repeat("x", 9000) + "=1": `There is no query parameter "` + strings.Repeat("x", 64) + `" here; there are after, limit.`,
	} {
		got := ""
		if err := CheckQuery(query, known, nil); err != nil {
			got = penstock.AsError(err).Message
		}
		if got != want {
			t.Errorf("%.40q: %q, want %q", query, got, want)
		}
	}
	if err := CheckQuery("x=1", nil, nil); err == nil || penstock.AsError(err).Message != `There is no query parameter "x" here; this endpoint has no query parameters.` {
		t.Errorf("%v", err)
	}
}
