package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// openCall is a call that stays open, and what came of it.
type openCall struct {
	name  string
	begun chan struct{} // closed when the beginning of the answer, or of the upload, is on its way
	done  chan struct{} // closed when it ended
	resp  *http.Response
	text  []byte
	err   error
	ended time.Time
}

// openAt makes a call that is expected to stay open. A silent one has no answer before its end.
func openAt(t *testing.T, name string, req *http.Request, silent bool) *openCall {
	o := &openCall{name: name, begun: make(chan struct{}), done: make(chan struct{})}
	if silent {
		close(o.begun)
	}
	go func() {
		defer close(o.done)
		defer func() { o.ended = time.Now() }()
		if o.resp, o.err = http.DefaultClient.Do(req); o.err != nil {
			return
		}
		defer o.resp.Body.Close()
		first := make([]byte, 16)
		n, err := o.resp.Body.Read(first)
		o.text = first[:n]
		if !silent {
			close(o.begun)
		}
		if err == nil {
			var rest []byte
			rest, err = io.ReadAll(o.resp.Body)
			o.text = append(o.text, rest...)
		}
		if err != io.EOF {
			o.err = err
		}
	}()
	return o
}

func (o *openCall) await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("%s %s did not happen", o.name, what)
	}
}

func requestOf(t *testing.T, s *Server, c Call, body io.Reader) *http.Request {
	t.Helper()
	if body == nil {
		body = strings.NewReader(c.Body)
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), c.Method, s.URL+c.Path, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range c.Header {
		req.Header.Set(name, value)
	}
	return req
}

// TestRevokedKeyEndsWhatIsOpen revokes a key at one process and holds that all it has open ends within a second, there and
// at another: streams of calls in both dialects, events of a job, a call that waits, and an upload. What the streams used is
// recorded, and the stream of another key goes on. A tenant that is disabled, and a key that expires, end the same way.
func TestRevokedKeyEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			upstream, data, env := serveUpstream(t, beginAndWait), t.TempDir(), engine.env(t)
			file := "tenants:\n" + guardedTenant("acme", "")
			nodes := []*guarded{joinGuarded(t, upstream, data, file, env...)}
			if len(env) > 0 {
				nodes = append(nodes, joinGuarded(t, upstream, data, file, env...))
			}
			at := operators{nodes[0].admin}
			at.makeTenant(t, "search")
			reader := at.makeKey(t, "search", "reader")
			for _, how := range []struct {
				name string
				end  func(k madeKey) Answer
			}{
				{"revoked", func(k madeKey) Answer { return at.Do(Call{Method: "DELETE", Path: "/admin/v1/keys/" + k.ID}) }},
				{"tenant disabled", func(madeKey) Answer {
					return at.Do(Call{Method: "PATCH", Path: "/admin/v1/tenants/search", Body: `{"enabled":false}`})
				}},
			} {
				k := at.makeKey(t, "search", "app")
				for _, n := range nodes {
					Await(t, "the key to be known", func() error {
						if a := n.Do(k.as(get("/v1/jobs"))); a.Status != http.StatusOK {
							return fmt.Errorf("%d %s", a.Status, a.Body)
						}
						return nil
					})
				}
				streams := revokeAll(t, nodes, k, func() {
					if a := how.end(k); a.Status != http.StatusOK {
						t.Fatalf("%s: %d %s", how.name, a.Status, a.Body)
					}
				})
				if how.name == "revoked" {
					wantRecorded(t, nodes, reader, streams)
				}
			}
			nodes[0].verifyLedger()
		})
	}
}

// wantRecorded holds that streams that ended with their key are recorded as such, with what they may have used.
func wantRecorded(t *testing.T, nodes []*guarded, reader madeKey, streams []*openCall) {
	t.Helper()
	for _, o := range streams {
		id := o.resp.Header.Get("X-Request-Id")
		Await(t, "the record of "+o.name, func() error {
			a := nodes[0].Do(reader.as(get("/v1/requests/" + id)))
			if a.Status != http.StatusOK || !strings.Contains(a.Body, `"code":"invalid_key"`) || !strings.Contains(a.Body, `"status":"failed"`) {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
	}
}

// revokeAll opens calls of every kind at every process, has the key end, and checks how they end.
func revokeAll(t *testing.T, nodes []*guarded, k madeKey, end func()) (streams []*openCall) {
	t.Helper()
	var all []*openCall
	begin := func(n *guarded, name string, c Call, body io.Reader) *openCall {
		silent := strings.HasPrefix(name, "a long") || strings.HasPrefix(name, "an upload")
		o := openAt(t, name, requestOf(t, n.Server, k.as(c), body), silent)
		all = append(all, o)
		return o
	}
	job := nodes[0].Do(k.as(post("/v1/jobs", `{"model":"chats","input":"Hi","stream":true}`)))
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(job.Body), &made); err != nil || made.ID == "" {
		t.Fatalf("the job: %d %s", job.Status, job.Body)
	}
	other := openAt(t, "the stream of another key", requestOf(t, nodes[0].Server, as(guardedKey("acme"), post(chatPath, ask("Hi", `"model":"chats","stream":true`))), nil), false)
	for _, n := range nodes {
		streams = append(streams, begin(n, "a stream", post(chatPath, ask("Hi", `"model":"chats","stream":true`)), nil),
			begin(n, "a message", post("/v1/messages", ask("Hi", `"model":"claude","max_tokens":9,"stream":true`)), nil))
		begin(n, "the events of a job", get("/v1/jobs/"+made.ID+"/events"), nil)
		begin(n, "live events", get("/v1/live"), nil)
		begin(n, "a long poll", get("/v1/jobs/"+made.ID, "Prefer", "wait=60"), nil)
		form, contentType := uploadForm(readerFunc(func(p []byte) (int, error) {
			<-t.Context().Done()
			return 0, io.EOF
		}))
		begin(n, "an upload", post("/v1/files", "", "Content-Type", contentType), form)
	}
	for _, o := range append(all, other) {
		o.await(t, "beginning", o.begun)
	}
	Await(t, "the calls that say nothing to be there", func() error {
		for _, n := range nodes {
			if got := n.admin.Do(get("/debug/pprof/goroutine?debug=2", "Authorization", "Bearer "+AdminKey)).Body; !strings.Contains(got, "deliver.(*Reader).Wait") || !strings.Contains(got, "createFile") {
				return fmt.Errorf("they are not")
			}
		}
		return nil
	})
	end()
	ended := time.Now()
	for _, o := range all {
		o.await(t, "its end", o.done)
		if took := o.ended.Sub(ended); took > time.Second {
			t.Errorf("%s ended %v after its key", o.name, took)
		}
		switch {
		case o.name == "a long poll" || o.name == "an upload":
			if o.err == nil && (o.resp.StatusCode != http.StatusUnauthorized || !bytes.Contains(o.text, []byte(`"invalid_key"`))) {
				t.Errorf("%s: %d %s", o.name, o.resp.StatusCode, o.text)
			}
		case o.err != nil || !bytes.Contains(o.text, []byte(`"code":"invalid_key"`)):
			t.Errorf("%s ended with %q, %v; want a typed error", o.name, o.text, o.err)
		case o.name != "a stream" && !bytes.Contains(o.text, []byte("event: error\n")):
			t.Errorf("%s ended with %q; want an event for the error", o.name, o.text)
		}
	}
	select {
	case <-other.done:
		t.Errorf("the stream of another key ended: %q, %v", other.text, other.err)
	default:
	}
	return streams
}
