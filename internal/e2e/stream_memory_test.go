package e2e

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// maxWaitingFrames is how deep the stack of a stream may be that waits for its next event. Go gives half of a stack back when
// less than a quarter of it is in use, to which it adds 800 bytes of its own. All streams have come to 16 KiB by the time
// their answer begins, and only below this do they return to 8.
const maxWaitingFrames = 16<<10/4 - 800

// A stream that waits for its next event does so on a small stack, or ten thousand of them do not fit into the memory that
// they are to fit into.
func TestStreamsWaitOnSmallStacks(t *testing.T) {
	t.Parallel()
	plain, secure := httptest.NewServer(http.HandlerFunc(beginAndWait)), httptest.NewUnstartedServer(http.HandlerFunc(beginAndWait))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	for _, tt := range []struct{ name, path, model string }{
		{"OpenAI's dialect", "/v1/chat/completions", "chats"},
		{"OpenAI's dialect over HTTP/2", "/v1/chat/completions", "secure-chats"},
		{"Anthropic's dialect", "/v1/messages", "claude"},
		{"translated", "/v1/chat/completions", "claude"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := startHolding(t, plain.URL, secure)
			s.hold(tt.path, tt.model)
			frames, depth := s.waiting()
			if depth >= maxWaitingFrames {
				t.Errorf("%d bytes of stack are in use, want less than %d; the frames, with their sizes, are\n%s", depth, maxWaitingFrames, frames)
			}
		})
	}
}

// beginAndWait is an upstream of both dialects that says the first word of an answer and no other.
func beginAndWait(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasSuffix(r.URL.Path, "/messages") {
		fmt.Fprint(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"up\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n")
	} else {
		fmt.Fprint(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"up\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"A\"}}]}\n\n")
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// holding is a server that a stream is held open through.
type holding struct {
	*Server
	admin *Server
}

func startHolding(t *testing.T, plain string, secure *httptest.Server) *holding {
	t.Helper()
	dir, address, admin := t.TempDir(), FreeAddress(t), FreeAddress(t)
	config, trusted := filepath.Join(dir, "penstock.yaml"), filepath.Join(dir, "upstream.pem")
	for path, text := range map[string][]byte{
		trusted: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}),
		config: fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
providers:
  openai: {kind: openai, base_url: %s/v1}
  claude: {kind: anthropic, base_url: %[4]s/v1, api_key: "${E2E_KEY}"}
  secure: {kind: openai, base_url: %[5]s/v1}
targets:
  chats: {provider: openai, upstream_model: up, limits: {concurrency: 1000}}
  claude: {provider: claude, upstream_model: up, limits: {concurrency: 1000}}
  secure-chats: {provider: secure, upstream_model: up, limits: {concurrency: 1000}}
models:
  chats: {targets: [chats]}
  claude: {targets: [claude]}
  secure-chats: {targets: [secure-chats]}
tenants:
  acme: {keys: [{name: e2e, secret: "${E2E_KEY}"}]}
`, address, admin, dir, plain, secure.URL),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"E2E_KEY=" + Key, "PENSTOCK_ADMIN_KEY=" + AdminKey, "SSL_CERT_FILE=" + trusted, "GOTRACEBACK=system"}
	p := Start(t, env, "serve", "--config", config)
	s := &holding{&Server{Process: p, URL: "http://" + address}, &Server{Process: p, URL: "http://" + admin}}
	s.AwaitReady()
	return s
}

// hold opens a stream, reads the first line of its first event, and leaves it open until the test ends.
func (s *holding) hold(path, model string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"model":%q,"max_tokens":9,"stream":true,"messages":[{"role":"user","content":%q}]}`, model, strings.Repeat("weir ", 200))
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if resp.StatusCode != http.StatusOK || err != nil {
		s.t.Fatalf("%s for %s: %s, %q, %v", path, model, resp.Status, line, err)
	}
}

var (
	// frameEnds are where a frame lies, as the last words of a Go program tell.
	frameEnds = regexp.MustCompile(`fp=(0x[0-9a-f]+) sp=(0x[0-9a-f]+) pc=`)
	// waitsForEvent is the function that a stream waits in, once it has sent what it read before: sendsEvents does that.
	waitsForEvent, sendsEvents = "sse.(*Reader).Await(", "(*httpSink).Flush("
)

// waiting ends the server, and tells how deep the stack of its only stream was, frame by frame.
func (s *holding) waiting() (frames string, depth uint64) {
	s.t.Helper()
	// The stack of a goroutine that runs cannot be told, and the event that was read may still be on its way there.
	Await(s.t, "the stream to wait", func() error {
		running := s.admin.Do(Call{Method: http.MethodGet, Path: "/debug/pprof/goroutine?debug=2", Header: map[string]string{"Authorization": "Bearer " + AdminKey}})
		for stack := range strings.SplitSeq(running.Body, "\n\n") {
			if strings.Contains(stack, waitsForEvent) && !strings.Contains(stack, sendsEvents) {
				return nil
			}
		}
		return fmt.Errorf("%d: no goroutine waits in %s", running.Status, waitsForEvent)
	})
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		s.t.Fatal(err)
	}
	s.Exit()
	for stack := range strings.SplitSeq(s.Output(), "\n\n") {
		if !strings.Contains(stack, waitsForEvent) {
			continue
		}
		lines := strings.Split(stack, "\n")
		for i, line := range lines {
			if ends := frameEnds.FindStringSubmatch(line); ends != nil {
				size := parseHex(s.t, ends[1]) - parseHex(s.t, ends[2])
				depth += size
				frames += fmt.Sprintf("%6d %s\n", size, lines[i-1])
			}
		}
		return frames, depth
	}
	s.t.Fatalf("no goroutine waits in %s; the last words were\n%s", waitsForEvent, s.Output())
	return "", 0
}

func parseHex(t testing.TB, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
