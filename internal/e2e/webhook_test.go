package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// hookReceiver keeps the messages that it was sent and could verify.
type hookReceiver struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	secret   string
	messages []hookMessage
	forged   int
}

type hookMessage struct {
	id, path   string
	signatures int
	body       struct {
		ID    string `json:"id"`
		Type  string `json:"type"`
		JobID string `json:"job_id"`
		Data  struct {
			Status  string
			Outcome string
			Counts  struct{ Total, Succeeded int }
		}
	}
}

func receiveHooks(t testing.TB) *hookReceiver {
	t.Helper()
	r := &hookReceiver{t: t}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements http.Handler.
func (r *hookReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	text, err := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	m := hookMessage{id: request.Header.Get("webhook-id"), path: request.URL.Path}
	if err == nil {
		err = json.Unmarshal(text, &m.body)
	}
	if err == nil {
		m.signatures, err = verifyHook(r.secret, request.Header, text)
	}
	if err != nil {
		r.forged++
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.messages = append(r.messages, m)
	w.WriteHeader(http.StatusNoContent)
}

// verifyHook verifies a message by the Standard Webhooks specification, without any code of the server's.
func verifyHook(secret string, h http.Header, body []byte) (signatures int, err error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || !strings.HasPrefix(secret, "whsec_") {
		return 0, fmt.Errorf("the secret %q is none: %w", secret, err)
	}
	at, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > 5*time.Minute {
		return 0, fmt.Errorf("the timestamp %q is not of now", h.Get("webhook-timestamp"))
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(h.Get("webhook-id") + "." + h.Get("webhook-timestamp") + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	all := strings.Fields(h.Get("webhook-signature"))
	for _, got := range all {
		if hmac.Equal([]byte(got), []byte(want)) {
			return len(all), nil
		}
	}
	return len(all), errors.New("no signature fits")
}

func (r *hookReceiver) knows(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = secret
}

// await waits for the message about a job, and demands that it came once.
func (r *hookReceiver) await(job string) (found hookMessage) {
	r.t.Helper()
	Await(r.t, "the webhook", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		n := 0
		for _, m := range r.messages {
			if m.body.JobID == job && m.body.Type == "job.finished" {
				found, n = m, n+1
			}
		}
		if n != 1 {
			return fmt.Errorf("%d messages about %s, of %d; %d were forged", n, job, len(r.messages), r.forged)
		}
		return nil
	})
	return found
}

// made reads two fields of an answer that must be of a status.
func made(t testing.TB, a Answer, status int) (id, secret string) {
	t.Helper()
	var v struct{ ID, Secret string }
	if a.Status != status {
		t.Fatalf("answered %d: %s", a.Status, a.Body)
	}
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		t.Fatal(err)
	}
	return v.ID, v.Secret
}

// TestWebhooks holds that the end of a job is told, signed, to an endpoint and to the webhook that the job brought
// along, and that a kill between the commit of the end and its delivery loses nothing.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	holdAdminPort()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			data, env := t.TempDir(), engine.env(t)
			endpoint, own := receiveHooks(t), receiveHooks(t)
			s := Dev(t, data, env...)
			id, secret := made(t, s.Do(Call{Method: "POST", Path: "/v1/webhooks", Body: `{"url":"` + endpoint.URL + `/hook"}`}), 201)
			endpoint.knows(secret)
			withHook := `{"model":"sim","input":"Hi","webhook":{"url":"` + own.URL + `/jobs"}}`
			if a := s.Do(Call{Method: "POST", Path: "/v1/jobs", Body: withHook}); a.Status != 409 || !strings.Contains(a.Body, "/v1/webhooks/secret") {
				t.Errorf("a job's webhook without a secret: %d %s", a.Status, a.Body)
			}
			_, secret = made(t, s.Do(Call{Method: "POST", Path: "/v1/webhooks/secret"}), 200)
			own.knows(secret)

			job, _ := made(t, s.Do(Call{Method: "POST", Path: "/v1/jobs", Body: withHook}), 202)
			for _, r := range []*hookReceiver{endpoint, own} {
				m := r.await(job)
				if m.id != m.body.ID || m.body.Data.Status != "succeeded" || m.body.Data.Outcome != "all_succeeded" || m.body.Data.Counts.Succeeded != 1 {
					t.Errorf("the message says %+v", m)
				}
			}
			rotated, newSecret := made(t, s.Do(Call{Method: "POST", Path: "/v1/webhooks/" + id + "/rotate"}), 200)
			if rotated != id || newSecret == secret {
				t.Errorf("rotated %s to %s", rotated, newSecret)
			}
			s.Kill()
			second := killAfterTheEnd(t, data, env)
			endpoint.mu.Lock()
			for _, m := range endpoint.messages {
				if m.body.JobID == second && m.body.Type == "job.finished" {
					t.Error("the end was told before the kill: the crash point proves nothing")
				}
			}
			endpoint.mu.Unlock()
			third := Dev(t, data, env...)
			if m := endpoint.await(second); m.signatures != 2 { // the receiver still has the old secret
				t.Errorf("%d signatures during the overlap", m.signatures)
			}
			log := third.Do(Call{Method: "GET", Path: "/v1/webhooks/" + id + "/deliveries"})
			if log.Status != 200 || strings.Count(log.Body, `"status":"delivered"`) < 2 {
				t.Errorf("the log says %s", log.Body)
			}
		})
	}
}

// killAfterTheEnd starts a server that dies as soon as the end of a job is committed, before anybody is told, and
// returns the job.
func killAfterTheEnd(t *testing.T, data string, env []string) string {
	t.Helper()
	s := Dev(t, data, append([]string{"PENSTOCK_CRASH=finish.committed"}, env...)...)
	on := &staged{Server: s}
	on.readGreeting(t)
	job, _ := made(t, s.Do(Call{Method: "POST", Path: "/v1/jobs", Body: `{"model":"sim","input":"Hi again [sim:hold=told]"}`}), 202)
	on.release("told") // it ends after it was accepted
	select {
	case <-s.Ended():
	case <-time.After(patience):
		t.Fatalf("the server lives on:\n%s", s.Output())
	}
	return job
}

// TestWebhookIsChangedAsKnown holds that endpoints have an ETag at every endpoint, and that a change which names another is
// refused and does nothing.
func TestWebhookIsChangedAsKnown(t *testing.T) {
	t.Parallel()
	s := stage(t).Server
	type endpoint struct{ ID, ETag, URL string }
	made := s.Do(post("/v1/webhooks", `{"url":"https://app.example/hook"}`))
	var w endpoint
	if err := json.Unmarshal([]byte(made.Body), &w); made.Status != http.StatusCreated || err != nil {
		t.Fatal(made.Status, made.Body, err)
	}
	path := "/v1/webhooks/" + w.ID
	if read := s.Do(get(path)); w.ETag == "" || made.Header.Get("ETag") != w.ETag || read.Header.Get("ETag") != w.ETag || !strings.Contains(s.Do(get("/v1/webhooks")).Body, `"etag":`) {
		t.Errorf("the endpoint is %+v, %v %v", w, made.Header, read.Header)
	}
	change := func(method, under, match string) Answer {
		c := Call{Method: method, Path: path + under, Header: map[string]string{"If-Match": match}}
		if method == http.MethodPatch {
			c.Body = `{"url":"https://app.example/` + strings.Trim(match, `"`) + `"}`
		}
		return s.Do(c)
	}
	now := readAs[endpoint](t, change(http.MethodPatch, "", w.ETag))
	if now.ETag == w.ETag || now.URL == w.URL {
		t.Errorf("changed to %+v", now)
	}
	for _, late := range []Answer{change(http.MethodPatch, "", w.ETag), change(http.MethodPost, "/rotate", w.ETag), change(http.MethodDelete, "", w.ETag)} {
		if late.Status != http.StatusPreconditionFailed || !strings.Contains(late.Body, `"code":"conflict"`) || !strings.Contains(late.Body, "read it again") {
			t.Errorf("a change of what it was: %d %s", late.Status, late.Body)
		}
	}
	if a := change(http.MethodPatch, "", "W/soon"); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"param":"If-Match"`) {
		t.Errorf("a tag that is none: %d %s", a.Status, a.Body)
	}
	if left := readAs[endpoint](t, s.Do(get(path))); left != now {
		t.Errorf("after refusals it is %+v, was %+v", left, now)
	}
	if a := change(http.MethodPatch, "", "*"); a.Status != http.StatusOK {
		t.Errorf("a change of whatever it is: %d %s", a.Status, a.Body)
	}
	rotated := readAs[endpoint](t, change(http.MethodPost, "/rotate", s.Do(get(path)).Header.Get("ETag")))
	if a := change(http.MethodDelete, "", rotated.ETag); a.Status != http.StatusOK {
		t.Errorf("deleted as it is: %d %s", a.Status, a.Body)
	}
}
