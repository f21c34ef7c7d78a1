package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

var faultScenarios = []scenario{
	{name: "fault_plain", play: faultPlain, own: true},
	{name: "fault_stream", play: faultStream, own: true},
	{name: "fault_rate_limit", play: faultRateLimit, own: true},
	{name: "fault_cut_short", play: faultCutShort},
}

// faultPlain is what a caller sees of an upstream that does not answer a plain call.
func faultPlain(s *scene) {
	for _, fault := range []string{"server_error", "overloaded", "quota", "auth", "not_found", "bad_request", "context_length",
		"content_filter", "disconnect", "malformed", "error_in_200"} {
		a := s.tell(fault, post(chatPath, ask("plain [sim:fault="+fault+"]", `"model":"sim"`)))
		if a.Status == http.StatusOK {
			s.Errorf("%s passes for an answer", fault)
		}
	}
	a := s.call(post(chatPath, ask("recorded [sim:fault=server_error]", `"model":"sim"`)))
	s.tell("the record of a failed call", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
}

// faultStream is what a caller sees of an upstream that breaks a stream: an answer of its own while
// nothing was sent, and after that a typed error in the stream, which never ends as if it were whole.
func faultStream(s *scene) {
	for _, fault := range []string{"server_error", "error_in_200", "context_length", "disconnect", "malformed", "error_mid_stream"} {
		// Of two tokens the first is struck, so that every stream breaks at the same place.
		a := s.tell(fault, post(chatPath, ask("stream [sim:tokens=2 fault="+fault+"]", `"model":"sim"`, `"stream":true`)))
		if strings.Contains(a.Body, "[DONE]") {
			s.Errorf("%s: the stream ends as if it were whole", fault)
		}
		if a.Status == http.StatusOK && !strings.Contains(a.Body, `data: {"error":{"code":"`) {
			s.Errorf("%s: the stream ends without an error", fault)
		}
	}
	a := s.call(post(chatPath, ask("recorded [sim:tokens=2 fault=disconnect]", `"model":"sim"`, `"stream":true`)))
	s.tell("the record of a broken stream", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
}

// faultRateLimit holds that an upstream's 429 never becomes ours, and that it is left alone for as long
// as it asked: calls wait for it if that is soon, and are refused if it is not.
func faultRateLimit(s *scene) {
	for _, header := range []string{`(Retry-After: )\d+`, `(Retry-After-Ms: )\d+`, `("retry_after_ms": )\d+`} {
		s.script.mask(header, "${1}<when>")
	}
	question := func(text string) Call { return post(chatPath, ask(text, `"model":"sim"`)) }
	limited := time.Now()
	s.tell("limited for a second", question("limited [sim:fault=rate_limit]"))
	s.tell("the next call waits", question("after the rest"))
	if waited := time.Since(limited); waited < time.Second {
		s.Errorf("the upstream was called again after %v", waited)
	}

	s.setSim(s, `{"requests_per_minute":1}`)
	if a := s.call(question("the only one this minute")); a.Status != http.StatusOK {
		s.Fatalf("%d %s", a.Status, a.Body)
	}
	s.tell("limited for a minute", question("one too many"))
	before := s.simStats().Requests
	s.tell("the next call is refused at once", question("not even tried"))
	if after := s.simStats().Requests; after != before {
		s.Error("the upstream was called although it had asked for a rest")
	}
}

// faultCutShort holds that a call whose body ends too early is no call.
func faultCutShort(s *scene) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	const whole = `{"model":"cut-short","input":"Hi"}`
	if _, err := fmt.Fprintf(conn, "POST /v1/jobs HTTP/1.1\r\nHost: penstock\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n%s", Key, whole); err != nil {
		s.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		s.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	s.script.exchange("a body of 1000 bytes that ends early", post("/v1/jobs", whole), Answer{resp.StatusCode, resp.Header, string(text)})
	if ids, _ := s.listed("model=cut-short"); len(ids) != 0 {
		s.Errorf("half a body became a job: %v", ids)
	}
}
