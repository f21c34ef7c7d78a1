package client_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"penstock/client"
)

func TestPromptFiles(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{
		says(200, `{"object":"prompt.import","format":"dotprompt","prompts":[{"name":"a","state":"failed","versions":[],"problems":[{"path":"a.prompt","line":3,"construct":"{{x y}}","severity":"error"}]}],"problems":[]}`),
		says(200, `{"object":"prompt.export","format":"langfuse","files":[{"path":"a.json","text":"[]"}],"problems":[]}`),
		says(200, `{"data":[{"label":"production","approval":true,"etag":"\"v1\""}],"has_more":false}`),
		says(200, `{"label":"production","prompts":["support/"],"etag":"\"v2\""}`),
		says(200, `{"deleted":true}`),
	}}
	p := client.Prompts{Client: dial(t, s)}
	done, err := p.Import(t.Context(), client.PromptImportOrder{Files: []client.PromptFile{{Path: "a.prompt", Text: "x"}}, DryRun: true})
	if err != nil || done.Prompts[0].State != "failed" || done.Prompts[0].Problems[0].Line != 3 || len(done.Raw) == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	export, err := p.Export(t.Context(), client.PromptExportOptions{Format: "langfuse", Prefix: "a"})
	if err != nil || len(export.Files) != 1 || export.Files[0].Text != "[]" {
		t.Fatalf("%+v, %v", export, err)
	}
	all, err := p.Protections(t.Context())
	if err != nil || len(all) != 1 || !all[0].Approval {
		t.Fatalf("%+v, %v", all, err)
	}
	one, err := p.Protect(t.Context(), "production", client.PromptProtectionOrder{Prompts: []string{"support/"}}, client.IfMatch(all[0].ETag))
	if err != nil || one.ETag != `"v2"` {
		t.Fatalf("%+v, %v", one, err)
	}
	if err := p.Unprotect(t.Context(), "a/b"); err != nil {
		t.Error(err)
	}
	want := []string{"POST /v1/prompts/import", "GET /v1/prompts/export?format=langfuse&prefix=a", "GET /v1/prompt_protections", "PUT /v1/prompt_protections/production", "DELETE /v1/prompt_protections/a%2Fb"}
	if got := asked(s); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if got := strings.TrimSpace(s.bodies[0]); got != `{"files":[{"path":"a.prompt","text":"x"}],"dry_run":true}` {
		t.Errorf("the body is %s", got)
	}
}
