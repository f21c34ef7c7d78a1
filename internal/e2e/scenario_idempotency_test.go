package e2e

import (
	"net/http"
	"strings"
	"sync"
)

var idempotencyScenarios = []scenario{
	{name: "idempotency_jobs", play: idempotentJobs},
	{name: "idempotency_what_counts_as_the_same", play: idempotentSame},
	{name: "idempotency_keys", play: idempotentKeys},
	{name: "idempotency_concurrent", play: idempotentConcurrent},
	{name: "idempotency_chat", play: idempotentChat},
}

const keyHeader = "Idempotency-Key"

func idempotentJobs(s *scene) {
	body := `{"model":"once","input":"run me once"}`
	first := s.tell("a job with a key", post("/v1/jobs", body, keyHeader, "once-1"))
	id := s.field(first, "id")
	s.finished(id)
	again := s.tell("sent again: its state by now", post("/v1/jobs", body, keyHeader, "once-1"))
	if s.field(again, "id") != id {
		s.Error("it became another job")
	}
	s.tell("sent again by somebody who waits", post("/v1/jobs", body, keyHeader, "once-1", "Prefer", "wait=30"))
	s.tell("another payload", post("/v1/jobs", `{"model":"once","input":"run me twice"}`, keyHeader, "once-1"))
	s.tell("on another path", post(chatPath, ask("run me once", `"model":"once"`), keyHeader, "once-1"))
	s.tell("a refused submit", post("/v1/jobs", `{"model":"once"}`, keyHeader, "once-2"))
	fresh := s.tell("leaves its key free", post("/v1/jobs", body, keyHeader, "once-2"))
	if s.field(fresh, "id") == id {
		s.Error("two keys share a job")
	}
	s.finished(s.field(fresh, "id"))
	if n := s.executions("run me once"); n != 2 {
		s.Errorf("two jobs ran %d times", n)
	}
}

// idempotentSame holds that a payload is the same if it means the same.
func idempotentSame(s *scene) {
	const original = `{"model":"same","inputs":[{"custom_id":"a","body":{"messages":[{"role":"user","content":"é"}],"seed":1}}],"tags":{"a":"1","b":"2"}}`
	first := s.call(post("/v1/jobs", original, keyHeader, "same"))
	for _, variant := range []struct{ name, body string }{
		{"the very same", original},
		{"white space", "\n{ \"model\" : \"same\" , \"inputs\":[ {\"custom_id\":\"a\",\"body\":{\"messages\":[{\"role\":\"user\",\"content\":\"é\"}],\"seed\":1}}],\t\"tags\":{\"a\":\"1\",\"b\":\"2\"}}\r\n"},
		{"order of names", `{"tags":{"b":"2","a":"1"},"inputs":[{"body":{"seed":1,"messages":[{"content":"é","role":"user"}]},"custom_id":"a"}],"model":"same"}`},
		{"an escape", strings.Replace(original, "é", `\u00e9`, 1)},
		{"a number's spelling", strings.Replace(original, `"seed":1`, `"seed":1.0`, 1)},
		{"another number", strings.Replace(original, `"seed":1`, `"seed":2`, 1)},
		{"another text", strings.Replace(original, "é", "e", 1)},
		{"another tag", strings.Replace(original, `"b":"2"`, `"b":"3"`, 1)},
		{"a field more", strings.Replace(original, `"tags"`, `"lane":"standard","tags"`, 1)},
	} {
		a := s.call(post("/v1/jobs", variant.body, keyHeader, "same"))
		verdict := "the same"
		if a.Status != http.StatusAccepted || s.field(a, "id") != s.field(first, "id") || a.Header.Get("Idempotency-Replayed") != "true" {
			verdict = "another: " + s.field(a, "error.code")
		}
		s.script.note("%s => %s", variant.name, verdict)
	}
	// Numbers that floating point cannot tell apart are different numbers to an upstream.
	large := strings.Replace(original, `"seed":1`, `"seed":9007199254740992`, 1)
	s.call(post("/v1/jobs", large, keyHeader, "same-large"))
	a := s.call(post("/v1/jobs", strings.Replace(large, "992", "993", 1), keyHeader, "same-large"))
	if a.Status != http.StatusUnprocessableEntity {
		s.Errorf("seeds 9007199254740992 and 9007199254740993 count as the same payload: %d", a.Status)
	}
}

func idempotentKeys(s *scene) {
	body := `{"model":"keys","input":"keys"}`
	plain := s.call(post("/v1/jobs", body, keyHeader, "keys-1"))
	quoted := s.call(post("/v1/jobs", body, keyHeader, `"keys-1"`))
	if s.field(plain, "id") != s.field(quoted, "id") {
		s.Error("a key in quotes, as the standard writes it, is another key")
	}
	longest := s.call(post("/v1/jobs", body, keyHeader, strings.Repeat("k", 255)))
	s.script.note("the longest key => %d", longest.Status)
	s.tell("too long", post("/v1/jobs", body, keyHeader, strings.Repeat("k", 256)))
	s.tell("too long, for a call", post(chatPath, ask("keys", `"model":"keys"`), keyHeader, strings.Repeat("k", 256)))
	s.tell("nothing in quotes", post("/v1/jobs", body, keyHeader, `""`))
	s.tell("a control character", post("/v1/jobs", body, keyHeader, "a\tb"))
	s.tell("no UTF-8", post("/v1/jobs", body, keyHeader, "a\xffb"))
}

// idempotentConcurrent sends one submit a hundred times at once.
func idempotentConcurrent(s *scene) {
	const callers = 100
	body := `{"model":"crowd","input":"one of a hundred"}`
	answers := make([]Answer, callers)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			a, err := s.try(s.Context(), post("/v1/jobs", body, keyHeader, "crowd"))
			if err != nil {
				s.Error(err)
			}
			answers[i] = a
		})
	}
	all.Wait()
	ids, original := map[string]int{}, 0
	for _, a := range answers {
		if a.Status != http.StatusAccepted {
			s.Fatalf("a submit was answered with %d %s", a.Status, a.Body)
		}
		ids[s.field(a, "id")]++
		if a.Header.Get("Idempotency-Replayed") == "" {
			original++
		}
	}
	if len(ids) != 1 || original != 1 {
		s.Errorf("%d submits made %d jobs, %d of them for the first time", callers, len(ids), original)
	}
	for id := range ids {
		s.finished(id)
	}
	if n := s.executions("one of a hundred"); n != 1 {
		s.Errorf("it ran %d times", n)
	}
}

func idempotentChat(s *scene) {
	body := ask("answer me once", `"model":"sim"`)
	first := s.tell("a call with a key", post(chatPath, body, keyHeader, "chat-1"))
	again := s.tell("sent again", post(chatPath, body, keyHeader, "chat-1"))
	if again.Body != first.Body {
		s.Errorf("the answers differ:\n%s\n%s", first.Body, again.Body)
	}
	spaced := s.call(post(chatPath, strings.ReplaceAll(body, ",", " , "), keyHeader, "chat-1"))
	if spaced.Body != first.Body {
		s.Errorf("with other white space the answer is\n%s", spaced.Body)
	}
	if n := s.executions("answer me once"); n != 1 {
		s.Errorf("it ran %d times", n)
	}
	s.tell("another payload", post(chatPath, ask("answer me twice", `"model":"sim"`), keyHeader, "chat-1"))
	s.tell("streamed", post(chatPath, ask("answer me once", `"model":"sim"`, `"stream":true`), keyHeader, "chat-2"))
	const refused = "refuse me once [sim:fault=bad_request]"
	s.tell("a call that fails", post(chatPath, ask(refused, `"model":"sim"`), keyHeader, "chat-3"))
	s.tell("fails again without being run", post(chatPath, ask(refused, `"model":"sim"`), keyHeader, "chat-3"))
	if n := s.executions(refused); n != 1 {
		s.Errorf("the failing call ran %d times", n)
	}
	retried := s.tell("a call that had to be tried twice",
		post(chatPath, ask("stumble once [sim:fault=server_error times=1]", `"model":"sim"`), keyHeader, "chat-4"))
	s.tell("the job behind it", get(retried.Header.Get("Location")))
}
