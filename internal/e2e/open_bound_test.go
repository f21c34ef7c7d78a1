package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// opened is a call that is answered and stays open: what comes of it is not read.
type opened struct {
	*http.Response
	leave func()
}

// openUnread makes a call and reads the head of its answer alone. Its receive buffer is small, so that the server is soon
// stuck in the middle of a large answer.
func openUnread(t *testing.T, s *Server, c Call) opened {
	t.Helper()
	dialer := &net.Dialer{}
	transport := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(128 << 10)
		}
		return conn, err
	}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	resp, err := (&http.Client{Transport: transport}).Do(requestOf(t, s, c, nil).WithContext(ctx))
	if err != nil {
		cancel()
		t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	o := opened{resp, func() { cancel(); resp.Body.Close(); transport.CloseIdleConnections() }}
	t.Cleanup(o.leave)
	return o
}

// begun is how a call begins that may stay open: its status, and all of its body if it was refused.
func begun(t *testing.T, s *Server, c Call) Answer {
	t.Helper()
	o := openUnread(t, s, c)
	defer o.leave()
	var text []byte
	if o.StatusCode != http.StatusOK {
		var err error
		if text, err = io.ReadAll(o.Body); err != nil {
			t.Fatal(err)
		}
	}
	return Answer{o.StatusCode, o.Header, string(text)}
}

// awaitBegun waits until a call begins with a status.
func awaitBegun(t *testing.T, s *Server, c Call, status int) (a Answer) {
	t.Helper()
	Await(t, fmt.Sprintf("%s to be answered with %d", c.Path, status), func() error {
		if a = begun(t, s, c); a.Status != status {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	return a
}

// fillKey takes the last place of a key by a call that waits, and returns the answer to one more call. Until the server
// has counted the call that waits, the other one may be faster: then both are made again.
func fillKey(t *testing.T, s *Server, waits, more Call) (waiting *openCall, refused Answer) {
	t.Helper()
	Await(t, "the key to be full", func() error {
		if waiting == nil || waiting.over() {
			waiting = openAt(t, "a long poll", requestOf(t, s, waits, nil), true)
		}
		if refused = begun(t, s, more); refused.Status != http.StatusTooManyRequests || waiting.over() {
			return fmt.Errorf("%d %s", refused.Status, refused.Body)
		}
		return nil
	})
	return waiting, refused
}

// over says that the call has ended.
func (o *openCall) over() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// wantFull holds that a call was refused because of those that are open.
func wantFull(t *testing.T, what string, a Answer, says string) {
	t.Helper()
	if a.Status != http.StatusTooManyRequests || !strings.Contains(a.Body, `"code":"rate_limited"`) || !strings.Contains(a.Body, says) || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s: %d, Retry-After %q, %s; want 429 that says %q", what, a.Status, a.Header.Get("Retry-After"), a.Body, says)
	}
}

// answerLarge answers with 3 MiB where a large answer is asked for, and else begins a stream that does not end.
func answerLarge(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a cut body asks for nothing
	if !strings.Contains(string(body), "large") {
		beginAndWait(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, strings.Replace(goodAnswer, goodText, strings.Repeat("x", 3<<20), 1))
}

// largeFile uploads 24 MiB, which are more than the buffers of a connection hold.
func largeFile(t *testing.T, s *Server, secret string) string {
	t.Helper()
	line := `{"custom_id":"a","body":{"model":"chats","input":"` + strings.Repeat("x", 3<<20) + `"}}` + "\n"
	form, contentType := uploadForm(strings.NewReader(strings.Repeat(line, 8)))
	text, err := io.ReadAll(form)
	if err != nil {
		t.Fatal(err)
	}
	return found(t, `"id":"(file[-_][0-9A-Za-z]+)"`, s.Do(as(secret, post("/v1/files", string(text), "Content-Type", contentType))).Body)
}

// TestOpenCallsAreBounded fills the places of a key and of its tenant for event streams and waiting calls, and those for
// downloads: the next one is refused and says why, another tenant notices nothing, and a place is free again once a call ends.
func TestOpenCallsAreBounded(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, answerLarge, "limits: {max_tenant_streams: 3, max_key_streams: 2, max_tenant_downloads: 3, max_key_downloads: 2}\ntenants:\n"+guardedTenant("acme", ""))
	at := operators{g.admin}
	at.makeTenant(t, "search")
	first, second, stranger := at.makeKey(t, "search", "first"), at.makeKey(t, "search", "second"), madeKey{Secret: guardedKey("acme")}
	t.Run("streams", func(t *testing.T) {
		submit := post("/v1/jobs", `{"model":"chats","input":"Hi","stream":true}`)
		events := get("/v1/jobs/" + idOf(g.Do(first.as(submit)).Body) + "/events")
		poll := get(strings.TrimSuffix(events.Path, "/events"), "Prefer", "wait=60")
		one := openUnread(t, g.Server, first.as(events))
		waiting, refused := fillKey(t, g.Server, first.as(poll), first.as(events))
		wantFull(t, "one more of the key", refused, "of tenant search has 2 event streams and waiting calls open on this process, which is the maximum; close one")
		openUnread(t, g.Server, second.as(events))
		const full = "Tenant search has 3 event streams and waiting calls open on this process"
		wantFull(t, "one more of the tenant", begun(t, g.Server, second.as(events)), full)
		wantFull(t, "a long poll", begun(t, g.Server, second.as(poll)), full)
		wantFull(t, "a submit that waits", begun(t, g.Server, second.as(post("/v1/jobs", submit.Body, "Prefer", "wait=60"))), full)
		if a := g.Do(second.as(get("/v1/jobs"))); a.Status != http.StatusOK || strings.Count(a.Body, `"id":"job_`) != 1 {
			t.Errorf("the list of jobs, which waits for nothing: %d %s", a.Status, a.Body)
		}
		theirs := get("/v1/jobs/" + idOf(g.Do(stranger.as(submit)).Body) + "/events")
		if a := begun(t, g.Server, stranger.as(theirs)); a.Status != http.StatusOK {
			t.Errorf("a stream of another tenant: %d %s", a.Status, a.Body)
		}
		if waiting.over() {
			t.Errorf("the long poll ended: %v %s", waiting.err, waiting.text)
		}
		one.leave()
		awaitBegun(t, g.Server, first.as(events), http.StatusOK)
	})
	t.Run("downloads", func(t *testing.T) {
		content := get("/v1/files/" + largeFile(t, g.Server, first.Secret) + "/content")
		one := openUnread(t, g.Server, first.as(content))
		openUnread(t, g.Server, first.as(content))
		wantFull(t, "one more of the key", begun(t, g.Server, first.as(content)), "of tenant search has 2 downloads open on this process, which is the maximum; close one")
		openUnread(t, g.Server, second.as(content))
		wantFull(t, "one more of the tenant", begun(t, g.Server, second.as(content)), "Tenant search has 3 downloads open on this process")
		theirs := get("/v1/files/" + largeFile(t, g.Server, stranger.Secret) + "/content")
		if a := begun(t, g.Server, stranger.as(theirs)); a.Status != http.StatusOK {
			t.Errorf("a download of another tenant: %d %s", a.Status, a.Body)
		}
		one.leave()
		awaitBegun(t, g.Server, second.as(content), http.StatusOK)
	})
	page := g.admin.Do(get("/metrics")).Body
	for _, resource := range []string{"streams", "downloads"} {
		for _, scope := range []string{"key", "tenant"} {
			if want := fmt.Sprintf(`penstock_limit_refusals_total{resource=%q,scope=%q,tenant="search"}`, resource, scope); !strings.Contains(page, want) {
				t.Errorf("no metric %s", want)
			}
		}
	}
}

// TestRevokedKeyEndsStalledDownloads revokes the key of a download that its caller does not read, at another process where
// there is one: it ends within a second, and the caller sees that the rest is missing. A signed link that the key made works on.
func TestRevokedKeyEndsStalledDownloads(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			upstream, data, env := serveUpstream(t, answerLarge), t.TempDir(), engine.env(t)
			// One place tells when the download is over, to a caller that waits for it.
			file := "limits: {max_tenant_downloads: 1, max_key_downloads: 1}\ntenants:\n" + guardedTenant("acme", "")
			here := joinGuarded(t, upstream, data, file, env...)
			there := here
			if len(env) > 0 {
				there = joinGuarded(t, upstream, data, file, env...)
			}
			at := operators{there.admin}
			at.makeTenant(t, "search")
			reader := at.makeKey(t, "search", "reader")
			Await(t, "the key to be known", func() error {
				if a := here.Do(reader.as(get("/v1/jobs"))); a.Status != http.StatusOK {
					return fmt.Errorf("%d %s", a.Status, a.Body)
				}
				return nil
			})
			inputs := strings.TrimSuffix(strings.Repeat(`{"body":{"messages":[{"role":"user","content":"A large one"}]}},`, 8), ",")
			job := idOf(here.Do(reader.as(post("/v1/jobs", `{"model":"chats","inputs":[`+inputs+`]}`, "Prefer", "wait=60"))).Body)
			id := largeFile(t, here.Server, reader.Secret)
			for _, path := range []string{"/v1/jobs/" + job + "/results", "/v1/files/" + id + "/content"} {
				k := at.makeKey(t, "search", "app")
				awaitBegun(t, here.Server, k.as(get("/v1/jobs")), http.StatusOK)
				link := found(t, `"url":"([^"]+)"`, here.Do(k.as(post("/v1/files/"+id+"/url", `{}`))).Body)
				stalled := openUnread(t, here.Server, k.as(get(path)))
				if stalled.StatusCode != http.StatusOK {
					t.Fatalf("%s: %d", path, stalled.StatusCode)
				}
				if a := begun(t, here.Server, reader.as(get(path))); a.Status != http.StatusTooManyRequests {
					t.Fatalf("%s does not stall: %d %s", path, a.Status, a.Body)
				}
				if a := at.Do(Call{Method: "DELETE", Path: "/admin/v1/keys/" + k.ID}); a.Status != http.StatusOK {
					t.Fatalf("revoke: %d %s", a.Status, a.Body)
				}
				revoked := time.Now()
				awaitBegun(t, here.Server, reader.as(get(path)), http.StatusOK)
				if took := time.Since(revoked); took > time.Second {
					t.Errorf("%s ended %v after its key", path, took)
				}
				if text, err := io.ReadAll(stalled.Body); err == nil || len(text) > 20<<20 {
					t.Errorf("%s: its caller read %d bytes and %v; want a part and an error", path, len(text), err)
				}
				awaitBegun(t, here.Server, get(strings.Replace(strings.TrimPrefix(link, here.URL), `\u0026`, "&", -1)), http.StatusOK)
			}
		})
	}
}
