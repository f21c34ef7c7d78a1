package e2e

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"strings"
	"sync"
)

var chatScenarios = []scenario{
	{name: "chat_plain", play: chatPlain},
	{name: "chat_stream", play: chatStream},
	{name: "chat_passthrough", play: chatPassthrough},
	{name: "chat_models", play: chatModels},
	{name: "chat_caller_times_out", play: chatTimesOut, own: true},
	{name: "chat_caller_leaves", play: chatLeaves, own: true},
}

const chatPath = "/v1/chat/completions"

func chatPlain(s *scene) {
	a := s.tell("a plain call", post(chatPath, ask("chat plainly", `"model":"sim"`)))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.tell("a model that is not configured", post(chatPath, ask("chat plainly", `"model":"gpt-unheard-of"`)))
	s.tell("a call without a model", post(chatPath, ask("chat plainly")))
	s.tell("the upstream says what is wrong with the caller's body", post(chatPath, `{"model":"sim","messages":[]}`))
}

func chatStream(s *scene) {
	a := s.tell("a streamed call", post(chatPath, ask("chat in pieces", `"model":"sim"`, `"stream":true`)))
	s.tell("explained, with usage that nobody asked for", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	a = s.tell("a streamed call that asks for usage",
		post(chatPath, ask("chat in pieces", `"model":"sim"`, `"stream":true`, `"stream_options":{"include_usage":true}`)))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
}

// What differs between two answers of the upstream to the same question.
var answerNumber = regexp.MustCompile(`"(chatcmpl|call)[-_][0-9a-f]{24}"|"created":\d+`)

// chatPassthrough holds that callers get the very bytes that the upstream sends to whoever calls it
// directly, but for the number and time of the answer.
func chatPassthrough(s *scene) {
	tools := `"tools":[{"type":"function","function":{"name":"look"}}],"tool_choice":"required"`
	for name, body := range map[string]string{
		"plain":              ask("pass on", `"model":"sim-1"`),
		"plain, long":        ask("pass on [sim:tokens=3000]", `"model":"sim-1"`),
		"plain, with a tool": ask("pass on", `"model":"sim-1"`, tools),
		"odd spelling":       "\n { \"messages\" : [ {\"content\":\"p\\u0061ss on\",\"role\":\"user\"}],\"x_unknown\":[1, 2.50,1e3] ,\"model\":\"sim-1\" }\n",
		"stream with usage":  ask("pass on", `"model":"sim-1"`, `"stream":true`, `"stream_options":{"include_usage":true}`),
		"stream of a tool":   ask("pass on", `"model":"sim-1"`, `"stream":true`, `"stream_options":{"include_usage":true}`, tools),
		"long stream":        ask("pass on [sim:tokens=500]", `"model":"sim-1"`, `"stream":true`, `"stream_options":{"include_usage":true}`),
		"stream":             ask("pass on", `"model":"sim-1"`, `"stream":true`),
	} {
		// The name is that of the upstream's model, so that both are asked for the same one.
		through := s.call(post(chatPath, body))
		direct := s.direct(body)
		want := answerNumber.ReplaceAllString(direct.Body, "<volatile>")
		got := answerNumber.ReplaceAllString(through.Body, "<volatile>")
		if name == "stream" {
			// Usage is asked for on the caller's behalf. Its own chunk is kept back; in the other chunks an
			// upstream says by a null that it comes later, and those bytes are passed on as they are.
			got = strings.ReplaceAll(got, `,"usage":null}`, "}")
		}
		if got != want || through.Status != direct.Status {
			s.Errorf("%s: through Penstock\n%d %s\ndirectly\n%d %s", name, through.Status, got, direct.Status, want)
		}
		if through.Header.Get("Content-Type") != direct.Header.Get("Content-Type") {
			s.Errorf("%s: the media type is %q, directly %q", name, through.Header.Get("Content-Type"), direct.Header.Get("Content-Type"))
		}
	}
}

// direct asks the simulated upstream without Penstock.
func (s *scene) direct(body string) Answer {
	s.Helper()
	resp, err := s.client.Post(s.sim+chatPath, "application/json", strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return Answer{resp.StatusCode, resp.Header, string(text)}
}

func chatModels(s *scene) {
	s.tell("the models", get("/v1/models"))
	s.tell("one of them", get("/v1/models/sim"))
}

// chatTimesOut holds that a caller who stops waiting frees the upstream.
func chatTimesOut(s *scene) {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	var call sync.WaitGroup
	call.Go(func() {
		if a, err := s.try(ctx, post(chatPath, ask("too slow [sim:fault=hang]", `"model":"sim"`))); err == nil {
			s.Errorf("a hanging upstream answered %d %s", a.Status, a.Body)
		}
	})
	s.upstreamServes(1)
	cancel()
	call.Wait()
	s.upstreamLeft(1)
}

// chatLeaves holds that a caller who leaves in the middle of a stream ends it upstream too, and that
// the record says so.
func chatLeaves(s *scene) {
	ctx, leave := context.WithCancel(s.Context())
	defer leave()
	resp, err := s.open(ctx, post(chatPath, ask("leave [sim:fault=stall]", `"model":"sim"`, `"stream":true`)))
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
		s.Fatalf("the stream begins with %q, %v", line, err)
	}
	leave()
	s.upstreamLeft(1)
	s.tellLeft("the record of a caller who left", resp.Header.Get("X-Request-Id"))
}
