package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock"
)

// operators is the admin API of a server.
type operators struct{ *Server }

func (st *staged) operators() operators {
	return operators{&Server{st.Process, strings.TrimSuffix(st.metrics, "/metrics")}}
}

// madeKey is a key as it is shown once.
type madeKey struct{ ID, Secret, Status string }

// as is a header that makes a call with the key.
func (k madeKey) as(c Call) Call {
	if c.Header == nil {
		c.Header = map[string]string{}
	}
	c.Header["Authorization"] = "Bearer " + k.Secret
	return c
}

func (o operators) makeTenant(t testing.TB, id string) {
	t.Helper()
	if a := o.Do(post("/admin/v1/tenants", `{"id":"`+id+`"}`)); a.Status != http.StatusCreated || a.Header.Get("ETag") == "" {
		t.Fatalf("make tenant %s: %d %s", id, a.Status, a.Body)
	}
}

// makeKey makes a key with the given scopes, or the usual ones.
func (o operators) makeKey(t testing.TB, tenant, name string, scopes ...penstock.Scope) (k madeKey) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"tenant": tenant, "name": name, "scopes": scopes})
	if err != nil {
		t.Fatal(err)
	}
	a := o.Do(post("/admin/v1/keys", string(body)))
	if err := json.Unmarshal([]byte(a.Body), &k); err != nil || a.Status != http.StatusCreated || k.Secret == "" {
		t.Fatalf("make key %s/%s: %d %s", tenant, name, a.Status, a.Body)
	}
	return k
}

// pollKeys is how often a process is asked for a key that it may not know yet. An address that asks more often is taken
// for one that guesses keys, and waits.
const pollKeys = 60 * time.Millisecond

// TestKeysAcrossProcesses holds that a key made at one process works at another within a second, and that a
// revoked one does not.
func TestKeysAcrossProcesses(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	here, there := c.api, c.join("api")
	at := operators{here.admin}
	at.makeTenant(t, "search")
	within := func(what string, s *Server, k madeKey, want int) {
		t.Helper()
		began := time.Now()
		for {
			a := s.Do(k.as(get("/v1/jobs")))
			took := time.Since(began)
			if a.Status == want || want == http.StatusUnauthorized && a.Status == http.StatusTooManyRequests { // asked often enough to be slowed down
				t.Logf("%s: %v", what, took)
				return
			}
			if took > time.Second {
				t.Fatalf("%s: after %v it answers %d %s", what, took, a.Status, a.Body)
			}
			<-time.After(pollKeys)
		}
	}
	for range 5 {
		k := at.makeKey(t, "search", "app")
		within("made here, works here", here.endpoint, k, http.StatusOK)
		within("made here, works there", there.endpoint, k, http.StatusOK)
		next := post("/admin/v1/keys/"+k.ID+"/rotate", `{"overlap":"1h"}`)
		var second madeKey
		if err := json.Unmarshal([]byte((operators{there.admin}).Do(next).Body), &second); err != nil {
			t.Fatal(err)
		}
		within("rotated there, works here", here.endpoint, second, http.StatusOK)
		within("the old one works on", here.endpoint, k, http.StatusOK)
		for _, ended := range []madeKey{k, second} {
			if a := there.admin.Do(Call{Method: "DELETE", Path: "/admin/v1/keys/" + ended.ID}); a.Status != http.StatusOK {
				t.Fatalf("revoke: %d %s", a.Status, a.Body)
			}
			within("revoked there, refused here", here.endpoint, ended, http.StatusUnauthorized)
		}
	}
	k := at.makeKey(t, "search", "app")
	within("made here, works there", there.endpoint, k, http.StatusOK)
	if a := here.admin.Do(Call{Method: "DELETE", Path: "/admin/v1/tenants/search"}); a.Status != http.StatusOK {
		t.Fatalf("delete: %d %s", a.Status, a.Body)
	}
	within("tenant deleted here, refused there", there.endpoint, k, http.StatusUnauthorized)
}

// TestNoisyNeighbour floods a server with the work of one tenant and holds that another hardly notices: neither its
// calls nor its jobs wait for what the first one piled up. The bounds are loose, for machines that are busy; waiting
// for the flood to pass would break them many times over.
func TestNoisyNeighbour(t *testing.T) {
	t.Parallel()
	st := stage(t)
	st.setSim(t, `{"first_token_latency":"200ms","tokens_per_second":0,"output_tokens":4}`)
	at := st.operators()
	at.makeTenant(t, "quiet")
	at.makeTenant(t, "noisy")
	quiet, noisy := at.makeKey(t, "quiet", "app"), at.makeKey(t, "noisy", "app")

	measure := func() (call, job time.Duration) {
		t.Helper()
		calls, jobs := []time.Duration{}, []time.Duration{}
		for range 10 {
			began := time.Now()
			if a := st.Do(quiet.as(post(chatPath, `{"model":"sim",`+ask("Hi")[1:]))); a.Status != http.StatusOK {
				t.Fatalf("a call: %d %s", a.Status, a.Body)
			}
			calls = append(calls, time.Since(began))
			began = time.Now()
			if a := st.Do(quiet.as(post("/v1/jobs", `{"model":"sim","input":"Hi"}`, "Prefer", "wait=60"))); a.Status != http.StatusOK {
				t.Fatalf("a job: %d %s", a.Status, a.Body)
			}
			jobs = append(jobs, time.Since(began))
		}
		slices.Sort(calls)
		slices.Sort(jobs)
		return quantile(calls, 0.5), quantile(jobs, 0.5)
	}
	aloneCall, aloneJob := measure()

	inputs := strings.TrimSuffix(strings.Repeat(`{"body":`+ask("Hi")+`},`, 256), ",")
	const batches = 40 // of 256 items: some half a minute of work for all slots
	for range batches {
		if a := st.Do(noisy.as(post("/v1/jobs", `{"model":"sim","inputs":[`+inputs+`]}`))); a.Status != http.StatusAccepted {
			t.Fatalf("the flood: %d %s", a.Status, a.Body)
		}
	}
	floodedCall, floodedJob := measure()
	left := st.Do(noisy.as(get("/v1/jobs?status=queued&limit=1"))).Body
	if !strings.Contains(left, `"status":"queued"`) {
		t.Fatal("the flood had passed before the end: nothing was measured")
	}
	t.Logf("a call: %v alone, %v beside %d items; a job: %v, %v", aloneCall, floodedCall, batches*256, aloneJob, floodedJob)
	const slack = 1500 * time.Millisecond
	if floodedCall > 3*aloneCall+slack {
		t.Errorf("a call takes %v beside a flood, %v alone", floodedCall, aloneCall)
	}
	if floodedJob > 3*aloneJob+slack {
		t.Errorf("a job takes %v beside a flood, %v alone", floodedJob, aloneJob)
	}
}
