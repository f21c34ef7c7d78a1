package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// texts are the texts of the messages of a conversation, oldest first.
func texts(t *testing.T, s *Server, conversation string) string {
	t.Helper()
	a := s.Do(get("/v1/conversations/" + conversation + "/items?order=asc&limit=100"))
	var v answeredResponse
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var all []string
	for _, item := range v.Data {
		for _, part := range item.Content {
			all = append(all, part.Text)
		}
	}
	return strings.Join(all, " ")
}

// A response in the background, or with an Idempotency-Key, is added to its conversation once. Repeated calls, and concurrent reads of the
// conversation, do not add it again.
func TestConversationsGrowByJobs(t *testing.T) {
	t.Parallel()
	r := startResponder(t, "")
	made := r.ok(post("/v1/conversations", `{"items":[{"role":"user","content":"zero"}]}`))
	background := r.ok(post(responsesPath, `{"model":"m","input":"one","background":true,"conversation":"`+made.ID+`"}`))
	if background.Conversation == nil || background.Conversation.ID != made.ID {
		t.Errorf("queued %+v", background)
	}
	Await(t, "the response in the background", func() error {
		if v := r.ok(get(responsesPath + "/" + background.ID)); v.Status != "completed" || v.Conversation == nil {
			return fmt.Errorf("%+v", v)
		}
		return nil
	})
	// The next turn has the turn of the job before it, although nobody read the conversation meanwhile.
	keyed := post(responsesPath, `{"model":"m","input":"two","conversation":"`+made.ID+`"}`)
	keyed.Header = map[string]string{"Idempotency-Key": "turn-2"}
	second := r.ok(keyed)
	r.wantInput(asked("zero"), asked("one"), said(1), asked("two"))
	for range 2 {
		if again := r.ok(keyed); again.ID != second.ID {
			t.Errorf("the repeated call is %s, not %s", again.ID, second.ID)
		}
	}
	if got := texts(t, r.Server, made.ID); got != "zero one 1 two 2" {
		t.Errorf("the conversation is %q", got)
	}
	// With store: false the key holds as well.
	unstored := post(responsesPath, `{"model":"m","input":"three","store":false,"conversation":"`+made.ID+`"}`)
	unstored.Header = map[string]string{"Idempotency-Key": "turn-3"}
	r.ok(unstored)
	r.ok(unstored)
	if got := texts(t, r.Server, made.ID); got != "zero one 1 two 2 three 3" || r.upstream.calls != 3 {
		t.Errorf("the conversation is %q after %d calls", got, r.upstream.calls)
	}
	// A stream of a job, and a response that fails, which adds nothing.
	r.stream(`"input":"four","background":true,"conversation":"` + made.ID + `"`)
	r.upstream.refuse(true)
	failed := r.ok(post(responsesPath, `{"model":"m","input":"five","background":true,"conversation":"`+made.ID+`"}`))
	Await(t, "the failure", func() error {
		if v := r.ok(get(responsesPath + "/" + failed.ID)); v.Status != "failed" {
			return fmt.Errorf("%+v", v)
		}
		return nil
	})
	r.upstream.refuse(false)
	r.wantStatus(post(responsesPath, `{"model":"none","input":"six","background":true,"conversation":"`+made.ID+`"}`), http.StatusNotFound, "model")
	if got := texts(t, r.Server, made.ID); got != "zero one 1 two 2 three 3 four 4" {
		t.Errorf("the conversation is %q", got)
	}
}

// A server that dies while the turn of a job is added adds it once.
func TestKillWhileAJobIsAdded(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite)
	for _, moment := range moments {
		l := r.start(at(turnSteps[1] + "." + moment))
		made := found(t, `"id":"(conv_[^"]+)"`, l.Do(post("/v1/conversations", `{}`)).Body)
		call := post(responsesPath, `{"model":"fast","input":"killed at `+moment+` [sim:tokens=3]","conversation":"`+made+`"}`)
		call.Header = map[string]string{"Idempotency-Key": moment}
		first := l.Do(call)
		if first.Status != http.StatusOK {
			t.Fatalf("%d %s", first.Status, first.Body)
		}
		if _, err := l.Try(t.Context(), get("/v1/conversations/"+made+"/items")); err == nil || !l.pass(patience) {
			t.Fatalf("the server did not come to %s", moment)
		}
		r.bury(l)
		next := r.start(death{})
		for range 2 {
			if again := next.Do(call); again.Body != first.Body {
				t.Errorf("killed at %s: the repeated call is %s, not %s", moment, again.Body, first.Body)
			}
			if got := texts(t, next.Server, made); strings.Count(got, "killed at") != 1 || len(strings.Fields(got)) != 4+3 {
				t.Errorf("killed at %s: the conversation is %q", moment, got)
			}
		}
		if code := next.Stop(); code != 0 {
			t.Errorf("the server stopped with code %d:\n%s", code, tail(next.Output()))
		}
	}
}
