package client_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"penstock/client"
)

func TestPlaygroundCalls(t *testing.T) {
	t.Parallel()
	run := `{"id":"prun_1","object":"playground.run","name":null,"state":"running","finished_at":null,"etag":"\"v1\"","counts":{"queued":1},"cells":[{"n":0,"state":"queued","output":{"text":"Hi"},"error":null}],"cursor":"1"}`
	s := &script{t: t, steps: []http.HandlerFunc{
		says(201, run), says(200, `{"data":[`+run+`],"has_more":false,"next_after":null}`), says(200, run), says(200, run), says(200, run), says(200, run),
		says(200, `{"rating":1}`), says(200, "{}\n{}\n"), says(201, `{"id":"pshr_1","kind":"snapshot","role":null,"url":"/t/a/playground/shared/pshr_1"}`), says(200, `{}`), says(200, `{}`),
	}}
	p := client.Playground{Client: dial(t, s)}
	made, err := p.Create(t.Context(), "n", json.RawMessage(`{"rows":[{}]}`))
	if err != nil || made.ID != "prun_1" || made.Cells[0].Output.Text != "Hi" || made.Counts.Queued != 1 || len(made.Raw) == 0 {
		t.Fatalf("%+v, %v", made, err)
	}
	for r, err := range p.List(t.Context(), client.PlaygroundFilter{Query: "x", Author: "me"}) {
		if err != nil || r.ID != "prun_1" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	one := 1
	if _, err := p.Read(t.Context(), "prun_1"); err != nil {
		t.Error(err)
	}
	if _, err := p.Rename(t.Context(), "prun_1", "new", client.IfMatch(`"v1"`)); err != nil {
		t.Error(err)
	}
	if _, err := p.Stop(t.Context(), "prun_1", 1); err != nil {
		t.Error(err)
	}
	if _, err := p.Resume(t.Context(), "prun_1"); err != nil {
		t.Error(err)
	}
	if err := p.Mark(t.Context(), "prun_1", 3, client.PlaygroundMark{Rating: &one}); err != nil {
		t.Error(err)
	}
	if lines, err := p.Export(t.Context(), "prun_1"); err != nil || len(lines) != 6 {
		t.Errorf("%q, %v", lines, err)
	}
	if share, err := p.Share(t.Context(), client.PlaygroundShareOrder{RunID: "prun_1", Kind: "snapshot", ExpiresIn: "1h"}); err != nil || share.ID != "pshr_1" {
		t.Errorf("%+v, %v", share, err)
	}
	if err := p.Unshare(t.Context(), "pshr_1"); err != nil {
		t.Error(err)
	}
	if err := p.Delete(t.Context(), "prun_1"); err != nil {
		t.Error(err)
	}
	runs := "/v1/playground/runs"
	want := []string{"POST " + runs, "GET " + runs + "?author=me&limit=100&query=x", "GET " + runs + "/prun_1", "PATCH " + runs + "/prun_1", "POST " + runs + "/prun_1/stop", "POST " + runs + "/prun_1/resume",
		"PUT " + runs + "/prun_1/cells/3/mark", "GET " + runs + "/prun_1/export", "POST /v1/playground/shares", "DELETE /v1/playground/shares/pshr_1", "DELETE " + runs + "/prun_1"}
	if got := asked(s); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if got := strings.TrimSpace(s.bodies[0]); got != `{"name":"n","setup":{"rows":[{}]}}` {
		t.Errorf("created with %s", got)
	}
	if s.calls[3].Header.Get("If-Match") != `"v1"` || strings.TrimSpace(s.bodies[4]) != `{"column":1}` {
		t.Errorf("changed with %v and %s", s.calls[3].Header, s.bodies[4])
	}
}
