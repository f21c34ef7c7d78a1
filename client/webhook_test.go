package client_test

import (
	"errors"
	"net/http"
	"testing"

	"penstock"
	"penstock/client"
)

// A change that names an ETag sends it, one that does not sends none, and a stale one is a conflict.
func TestWebhookIfMatch(t *testing.T) {
	t.Parallel()
	const hook = `{"id":"whk_1","url":"https://app.example/hook","etag":"\"v7\""}`
	s := &script{t: t, steps: []http.HandlerFunc{says(200, hook), says(200, hook), says(200, hook), says(200, `{}`), fails(412, "conflict")}}
	c := dial(t, s)
	about := "told late"
	w, err := c.ChangeWebhook(t.Context(), "whk_1", client.WebhookOrder{Description: &about})
	if err != nil || w.ETag != `"v7"` {
		t.Fatalf("%+v, %v", w, err)
	}
	if _, err := c.ChangeWebhook(t.Context(), w.ID, client.WebhookOrder{Description: &about}, client.IfMatch(w.ETag)); err != nil {
		t.Error(err)
	}
	if _, err := c.RotateWebhook(t.Context(), w.ID, client.IfMatch(w.ETag)); err != nil {
		t.Error(err)
	}
	if err := c.DeleteWebhook(t.Context(), w.ID, client.IfMatch(w.ETag)); err != nil {
		t.Error(err)
	}
	err = c.DeleteWebhook(t.Context(), w.ID, client.IfMatch(w.ETag))
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != penstock.CodeConflict {
		t.Errorf("a stale one: %v", err)
	}
	for i, call := range s.calls {
		want := `"v7"`
		if i == 0 {
			want = ""
		}
		if got := call.Header.Get("If-Match"); got != want {
			t.Errorf("call %d, %s %s, has If-Match %q, want %q", i, call.Method, call.URL, got, want)
		}
	}
}
