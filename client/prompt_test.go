package client_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"penstock"
	"penstock/client"
)

func TestSaveAndMove(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{
		says(201, `{"object":"prompt.version","name":"support/answer","version":3,"sha256":"ab","kind":"text","text":"Hi {{name}}","references":[]}`),
		says(200, `{"label":"production","version":3,"etag":"\"v2\""}`),
		fails(412, "conflict"),
	}}
	p := client.Prompts{Client: dial(t, s)}
	v, err := p.Save(t.Context(), "support/answer", client.PromptOrder{PromptContent: client.PromptContent{Kind: "text", Text: "Hi {{name}}"}, Message: "first"})
	if err != nil || v.Version != 3 || v.Text != "Hi {{name}}" || len(v.Raw) == 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	none := int64(0)
	l, err := p.MoveLabel(t.Context(), "support/answer", "production", client.PromptMoveOrder{Version: 3, Expect: &none, Reason: "release"})
	if err != nil || l.Version != 3 || l.ETag != `"v2"` {
		t.Fatalf("%+v, %v", l, err)
	}
	_, err = p.MoveLabel(t.Context(), "support/answer", "production", client.PromptMoveOrder{Version: 2}, client.IfMatch(`"v1"`))
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != penstock.CodeConflict {
		t.Errorf("a stale move: %v", err)
	}
	want := []string{"POST /v1/prompts/support/answer/versions", "PUT /v1/prompts/support/answer/labels/production", "PUT /v1/prompts/support/answer/labels/production"}
	if got := asked(s); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if got := s.calls[2].Header.Get("If-Match"); got != `"v1"` {
		t.Errorf("If-Match is %q", got)
	}
	for i, want := range []string{`{"kind":"text","text":"Hi {{name}}","message":"first"}`, `{"version":3,"expect":0,"reason":"release"}`, `{"version":2}`} {
		if got := strings.TrimSpace(s.bodies[i]); got != want {
			t.Errorf("body %d is %s, want %s", i, got, want)
		}
	}
}

// The pages of a folder are joined, and their cursor is the server's.
func TestPromptFolderReadsPageAfterPage(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{
		says(200, `{"data":[{"name":"support/answer"}],"folders":["support/mail/"],"has_more":true,"next_after":"support/mail/"}`),
		says(200, `{"data":[{"name":"support/triage"}],"folders":[],"has_more":false,"next_after":null}`),
	}}
	f, err := client.Prompts{Client: dial(t, s)}.Folder(t.Context(), "support")
	if err != nil || len(f.Prompts) != 2 || f.Prompts[1].Name != "support/triage" || !slices.Equal(f.Folders, []string{"support/mail/"}) {
		t.Fatalf("%+v, %v", f, err)
	}
	if got := s.calls[1].URL.Query().Get("after"); got != "support/mail/" {
		t.Errorf("the second page begins behind %q", got)
	}
}

func TestPromptNamesCannotLeaveTheirPath(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a/b":            "/v1/prompts/a/b",
		"../jobs":        "/v1/prompts/%2E%2E/jobs",
		"a/./b?limit=1":  "/v1/prompts/a/%2E/b%3Flimit=1",
		"a/..%2f../jobs": "/v1/prompts/a/..%252f../jobs",
	} {
		s := &script{t: t, steps: []http.HandlerFunc{fails(404, "not_found")}}
		if _, err := (client.Prompts{Client: dial(t, s)}).Read(t.Context(), name); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := s.calls[0].URL.EscapedPath(); got != want {
			t.Errorf("%s: path %s, want %s", name, got, want)
		}
	}
}
