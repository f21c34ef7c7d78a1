package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func serveUpstream(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// answerShort is an upstream that answers at once.
func answerShort(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"id":"c1","object":"chat.completion","model":"up","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"A"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
}

// dribble opens a connection that announces a body of so many bytes, sends the beginning of it, and goes on byte by byte
// until the test ends. What is answered goes to the channel.
func (g *guarded) dribble(secret string, announced, first int, answers chan<- *http.Response) {
	g.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	if err != nil {
		g.t.Error(err)
		return
	}
	stop := make(chan struct{})
	g.t.Cleanup(func() { close(stop); _ = conn.Close() })
	beginning := `{"model":"chats","messages":[{"role":"user","content":"` + strings.Repeat("x", first)
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		secret, announced, beginning[:first])
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				if _, err := io.WriteString(conn, "y"); err != nil {
					return
				}
			}
		}
	}()
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return // the connection was closed by the end of the test
		}
		select {
		case answers <- resp:
		case <-stop:
		}
	}()
}

// TestDribbledBodies repeats an attack: a hundred connections announce 8 MiB each and send them byte by byte. It took the
// process from 111 to 907 MB. A tenant that may run two calls at a time gets two of them read; one without limits gets
// memory for what has arrived. The calls of another tenant all succeed meanwhile.
func TestDribbledBodies(t *testing.T) {
	t.Parallel()
	const connections, announced, mib = 100, 8 << 20, 1 << 20
	g := startGuarded(t, answerShort, `
tenants:
`+guardedTenant("limited", "limits: {concurrency: 2},")+guardedTenant("open", "")+guardedTenant("good", ""))
	call := as(guardedKey("good"), post(chatPath, ask("Hi", `"model":"chats"`)))
	for range 20 { // what is allocated once is
		if a := g.Do(call); a.Status != http.StatusOK {
			t.Fatalf("before: %d %s", a.Status, a.Body)
		}
	}
	before := g.peak()
	answers := make(chan *http.Response, 2*connections)
	for range connections {
		g.dribble(guardedKey("limited"), announced, 64<<10, answers)
		g.dribble(guardedKey("open"), announced, 64<<10, answers)
	}
	for range connections - 2 {
		resp := <-answers
		text, _ := io.ReadAll(io.LimitReader(resp.Body, resp.ContentLength))
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), `"code":"rate_limited"`) ||
			!strings.Contains(string(text), "Tenant limited runs 2 of 2 calls at a time") {
			t.Fatalf("a connection of the limited tenant: %d %s", resp.StatusCode, text)
		}
	}
	for range 100 {
		if a := g.Do(call); a.Status != http.StatusOK {
			t.Fatalf("a call of another tenant: %d %s", a.Status, a.Body)
		}
	}
	select {
	case resp := <-answers:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, resp.ContentLength))
		t.Errorf("one answer too many: %d %s", resp.StatusCode, text)
	default:
	}
	const bound = 100 * mib
	grown := g.peak() - before
	t.Logf("%d connections took %d MiB", 2*connections, grown/mib)
	if grown > bound {
		t.Errorf("the attack took %d MiB, want at most %d", grown/mib, bound/mib)
	}
	whole := as(guardedKey("good"), post(chatPath, ask(strings.Repeat("x", announced), `"model":"chats"`)))
	if a := g.Do(whole); a.Status != http.StatusRequestEntityTooLarge || !strings.Contains(a.Body, `"code":"too_large"`) {
		t.Errorf("a body over the bound: %d %.200s", a.Status, a.Body)
	}
	g.verifyLedger()
}

// TestBodyBytesInFlight fills the bounds of a tenant and of the process with bodies that never end. The tenant is told
// that it is the tenant (429), others that it is the process (503), and small calls of a third tenant pass all the time.
func TestBodyBytesInFlight(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	g := startGuarded(t, answerShort, `
limits: {max_body_bytes: 1048576, max_job_bytes: 1048576, max_tenant_body_bytes: 16777216, max_process_body_bytes: 33554432}
tenants:
`+guardedTenant("one", "")+guardedTenant("two", "")+guardedTenant("good", ""))
	refused := func(tenant string, connections int) *http.Response {
		t.Helper()
		answers := make(chan *http.Response, connections)
		for range connections {
			g.dribble(guardedKey(tenant), mib, mib-1000, answers)
		}
		select {
		case resp := <-answers:
			return resp
		case <-time.After(patience):
			t.Fatalf("%d bodies of %s were not refused", connections, tenant)
			return nil
		}
	}
	check := func(resp *http.Response, status int, code, message string) {
		t.Helper()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, resp.ContentLength))
		if resp.StatusCode != status || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), `"code":"`+code+`"`) || !strings.Contains(string(text), message) {
			t.Errorf("refused with %d %s, want %d %s", resp.StatusCode, text, status, code)
		}
	}
	check(refused("one", 20), http.StatusTooManyRequests, "rate_limited", "bytes of request bodies in flight, and its limit is 16777216")
	check(refused("two", 20), http.StatusServiceUnavailable, "overloaded", "reached its limit of bytes of request bodies in flight")
	for range 50 {
		if a := g.Do(as(guardedKey("good"), post(chatPath, ask("Hi", `"model":"chats"`)))); a.Status != http.StatusOK {
			t.Fatalf("a small call of another tenant: %d %s", a.Status, a.Body)
		}
	}
	if a := g.admin.Do(get("/metrics")); !strings.Contains(a.Body, `penstock_limit_refusals_total{resource="body_bytes",scope="tenant",tenant="one"}`) ||
		!strings.Contains(a.Body, `penstock_body_bytes{kind="request"}`) {
		t.Error("metrics do not tell of body bytes")
	}
}

// TestLargeAnswersAtOnce asks for many answers of the maximal size at a time, by calls and by a job. They wait for each
// other instead of taking all memory, and every one arrives.
func TestLargeAnswersAtOnce(t *testing.T) {
	t.Parallel()
	const calls, size, mib = 48, 8 << 20, 1 << 20
	answer := `{"id":"c1","object":"chat.completion","model":"up","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"` +
		strings.Repeat("A", size-4096) + `"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	g := startGuarded(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		_, _ = io.WriteString(w, answer)
	}, `
limits: {max_answer_bytes: 8388608, max_tenant_answer_bytes: 33554432, max_process_answer_bytes: 67108864}
tenants:
`+guardedTenant("acme", ""))
	before := g.peak()
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			a, err := g.Try(t.Context(), as(guardedKey("acme"), post(chatPath, ask("Hi", `"model":"chats"`))))
			if err != nil || a.Status != http.StatusOK || len(a.Body) != len(answer) {
				t.Errorf("a call: %d, %d bytes, %v: %.200s", a.Status, len(a.Body), err, a.Body)
			}
		})
	}
	all.Wait()
	t.Logf("%d calls took %d MiB", calls, (g.peak()-before)/mib)
	inputs := strings.TrimSuffix(strings.Repeat(`{"body":`+ask("Hi")+`},`, calls), ",")
	a := g.Do(as(guardedKey("acme"), post("/v1/jobs", `{"model":"chats","max_attempts":1,"inputs":[`+inputs+`]}`, "Prefer", "wait=60")))
	if a.Status != http.StatusOK || !strings.Contains(a.Body, fmt.Sprintf(`"succeeded":%d`, calls)) {
		t.Errorf("the job: %d %.400s", a.Status, a.Body)
	}
	grown := g.peak() - before
	t.Logf("%d answers of %d MiB twice took %d MiB", calls, size/mib, grown/mib)
	// Without bounds it is 900. Beside what is counted there are sealed copies of results, and what the collector has not freed.
	if bound := int64(500 * mib); grown > bound {
		t.Errorf("the answers took %d MiB, want at most %d", grown/mib, bound/mib)
	}
	g.verifyLedger()
}
