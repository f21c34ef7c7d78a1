package api

import (
	"strings"
	"testing"

	"penstock"
	"penstock/internal/rest"
)

// Every route of the table refuses a parameter that it does not have, and accepts all that it has. Routes that official SDKs
// call accept the parameters that the SDKs add by themselves.
func TestEveryRouteKnowsItsQuery(t *testing.T) {
	t.Parallel()
	for _, rt := range routes {
		name := rt.Method + " " + rt.Path
		err := rt.CheckQuery("colour=red")
		if refused := penstock.ErrorCode(err) == penstock.CodeInvalidRequest && penstock.AsError(err).Param == "colour"; refused == rt.AnyQuery {
			t.Errorf("%s?colour=red: %v", name, err)
		}
		for _, p := range rt.Params {
			if p.In != "query" {
				continue
			}
			if err := rt.CheckQuery(p.Name + "=1"); err != nil {
				t.Errorf("%s?%s=1: %v", name, p.Name, err)
			}
			err := rt.CheckQuery(p.Name + "s=1")
			if !rt.AnyQuery && !strings.Contains(penstock.AsError(err).Message, `did you mean "`+p.Name+`"?`) {
				t.Errorf("%s?%ss=1: %v", name, p.Name, err)
			}
		}
		for _, sent := range []string{"beta=true", "api-version=2024-10-21", "include[]=reasoning.encrypted_content", "include%5B0%5D=x", "include=x&include=y"} {
			if err := rt.CheckQuery(sent); (err == nil) != (rt.AnyQuery || rt.CheckQuery("beta=true") == nil) {
				t.Errorf("%s?%s: %v", name, sent, err)
			}
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank", "/v2/rerank", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/models"} {
		if (&rest.Route{Path: path}).CheckQuery("beta=true") != nil {
			t.Errorf("%s refuses what SDKs send", path)
		}
	}
}
