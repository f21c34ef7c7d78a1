package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// In a cluster under test nothing is found by polling in time: what is prompt must have been told.
const (
	clusterLease = 4 * time.Second
	clusterPoll  = 4 * time.Second
	// prompt is what the tests call "at once". Readers poll every second, workers every four. One wait in a row may be
	// longer, since the machine does other things too; without being told, hardly one of them would be prompt.
	prompt = 400 * time.Millisecond
)

// cluster is several processes on one PostgreSQL: one that serves, and workers.
type cluster struct {
	*rig
	api      *node
	workers  []*node
	settings string // further ones of every process
}

// node is one process of a cluster.
type node struct {
	*Process
	role            string
	endpoint, admin *Server
}

func newCluster(t *testing.T, settings ...string) *cluster {
	t.Helper()
	c := &cluster{rig: newRig(t, onPostgres), settings: strings.Join(settings, "\n")}
	c.api = c.join("api")
	return c
}

// join starts a process and waits until it says that it is ready.
func (c *cluster) join(role string) *node {
	c.t.Helper()
	r := c.rig
	if c.api != nil {
		r = c.twin()
	}
	text := strings.Replace(r.yaml(), fmt.Sprintf("lease_timeout: %v, poll_interval: 50ms", leaseTimeout),
		fmt.Sprintf("lease_timeout: %v, poll_interval: %v", clusterLease, clusterPoll), 1)
	if !strings.Contains(text, clusterPoll.String()) {
		c.t.Fatal("the configuration does not poll slowly")
	}
	if err := os.WriteFile(r.config, []byte(text+c.settings), 0o600); err != nil {
		c.t.Fatal(err)
	}
	n := &node{role: role, Process: Start(c.t, r.env, "serve", "--config", r.config, "--role", role)}
	n.endpoint, n.admin = &Server{n.Process, r.endpoint.URL}, &Server{n.Process, r.admin.URL}
	Await(c.t, "a process to be ready", func() error {
		select {
		case <-n.Ended():
			c.t.Fatalf("the %s ended; it printed:\n%s", role, tail(n.Output()))
		default:
		}
		a, err := n.admin.Try(c.t.Context(), get("/readyz"))
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("it answers %s", a.Body)
		}
		return err
	})
	if role == "worker" {
		c.workers = append(c.workers, n)
	}
	return n
}

// metric reads a counter of a process, summed over its labels that match.
func (n *node) metric(pattern string) float64 {
	n.t.Helper()
	sum := 0.0
	for _, m := range regexp.MustCompile(`(?m)^`+pattern+` (\S+)$`).FindAllStringSubmatch(n.admin.Do(get("/metrics")).Body, -1) {
		v, err := strconv.ParseFloat(m[len(m)-1], 64)
		if err != nil {
			n.t.Fatal(err)
		}
		sum += v
	}
	return sum
}

func (c *cluster) submit(inputs ...string) string {
	c.t.Helper()
	var bodies []string
	for _, in := range inputs {
		bodies = append(bodies, `{"body":`+ask(in)+`}`)
	}
	a := c.api.endpoint.Do(post("/v1/jobs", `{"model":"fast","inputs":[`+strings.Join(bodies, ",")+`]}`))
	var job jobAnswer
	if err := json.Unmarshal([]byte(a.Body), &job); err != nil || a.Status != http.StatusAccepted {
		c.t.Fatalf("submit: %d %s", a.Status, a.Body)
	}
	return job.ID
}

// times are those of a job.
type times struct {
	Status                           string
	CreatedAt, StartedAt, FinishedAt time.Time
}

// TestCluster runs a server that only serves and workers that only work on one database, and holds that
// they hear of each other at once.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	early := c.submit("before there is a worker")
	c.join("worker")
	c.join("worker")
	for _, step := range []struct {
		name string
		run  func(*cluster, *testing.T)
	}{
		{"workers do what the API accepted", func(c *cluster, t *testing.T) { c.finishes(t, early) }},
		{"work begins at once and its end is heard at once", (*cluster).hears},
		{"pages hear of work on another process", (*cluster).shows},
		{"a cancel reaches the worker", (*cluster).cancels},
		{"a pause reaches every process", (*cluster).pauses},
		{"a paused lane waits until it is resumed", (*cluster).waits},
		{"a dead worker's items run elsewhere", (*cluster).survives},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(c, t) }) {
			for _, n := range append(c.workers, c.api) {
				t.Logf("the %s printed:\n%s", n.role, tail(n.Output()))
			}
			return
		}
	}
	if n := c.api.metric(`penstock_claim_group_items_count`); n != 0 {
		t.Errorf("the process that only serves claimed %v times", n)
	}
}

func (c *cluster) finishes(t *testing.T, id string) times {
	t.Helper()
	a := c.api.endpoint.Do(Call{Method: "GET", Path: "/v1/jobs/" + id, Header: map[string]string{"Prefer": "wait=30"}})
	var job struct {
		Status     string    `json:"status"`
		CreatedAt  time.Time `json:"created_at"`
		StartedAt  time.Time `json:"started_at"`
		FinishedAt time.Time `json:"finished_at"`
	}
	if err := json.Unmarshal([]byte(a.Body), &job); err != nil || job.Status != "succeeded" {
		t.Fatalf("job %s: %v, %s", id, err, a.Body)
	}
	return times(job)
}

// hears follows jobs by long-poll and by SSE at the process that does not run them.
func (c *cluster) hears(t *testing.T) {
	var begins, polls, streams []time.Duration
	for n := range 8 {
		id := c.submit(fmt.Sprintf("update %d [sim:tokens=3 latency=%dms]", n, 100+n*90))
		var wg sync.WaitGroup
		var polled, streamed time.Time
		var job times
		wg.Go(func() {
			job = c.finishes(t, id)
			polled = time.Now()
		})
		wg.Go(func() {
			a := c.api.endpoint.Do(get("/v1/jobs/" + id + "/events"))
			streamed = time.Now()
			if !strings.Contains(a.Body, "job.finished") {
				t.Errorf("the stream ended without the job's end:\n%s", a.Body)
			}
		})
		wg.Wait()
		begins = append(begins, job.StartedAt.Sub(job.CreatedAt))
		polls, streams = append(polls, polled.Sub(job.FinishedAt)), append(streams, streamed.Sub(job.FinishedAt))
	}
	for name, delays := range map[string][]time.Duration{"submit to start": begins, "end to long-poll": polls, "end to SSE": streams} {
		slices.Sort(delays)
		t.Logf("%s in another process: p50 %v, max %v", name, quantile(delays, 0.5), quantile(delays, 1))
		if late := delays[len(delays)-2]; late > prompt {
			t.Errorf("%s took %v more than once", name, late)
		}
	}
}

func (c *cluster) cancels(t *testing.T) {
	var delays []time.Duration
	for n := range 5 {
		id := c.submit(fmt.Sprintf("stop me %d [sim:fault=hang]", n))
		c.awaitRunning(id, 1)
		Await(t, "the upstream to be called", func() error {
			if n := c.upstream.Stats().InFlight; n != 1 {
				return fmt.Errorf("%d calls are in flight", n)
			}
			return nil
		})
		began := time.Now()
		c.api.endpoint.Do(post("/v1/jobs/"+id+"/cancel", ""))
		for c.upstream.Stats().InFlight != 0 {
			if time.Since(began) > time.Second {
				t.Fatal("a second after the cancel the upstream is still being called")
			}
			c.api.endpoint.Do(get("/healthz")) // a breath
		}
		delays = append(delays, time.Since(began))
		// What was closed is recorded next; nothing may be left that runs.
		a := c.api.endpoint.Do(Call{Method: "GET", Path: "/v1/jobs/" + id, Header: map[string]string{"Prefer": "wait=30"}})
		if !strings.Contains(a.Body, `"status":"cancelled"`) {
			t.Errorf("a cancelled job is %s", a.Body)
		}
	}
	slices.Sort(delays)
	t.Logf("cancel to closed upstream connection: p50 %v, max %v", quantile(delays, 0.5), quantile(delays, 1))
	heard := 0.0
	for _, w := range c.workers {
		heard += w.metric(`penstock_signals_received_total\{topic="cancel"\}`)
	}
	if heard < float64(len(delays)) {
		t.Errorf("workers heard of %v cancels, want each of them to hear of all %d", heard, len(delays))
	}
}

// pauses holds the model back at one process and asks another.
func (c *cluster) pauses(t *testing.T) {
	at, path := c.workers[0].admin, "/admin/v1/controls/model/fast"
	chat := post("/v1/chat/completions", `{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`)
	awaitStatus := func(want int) Answer {
		t.Helper()
		began := time.Now()
		for {
			a := c.api.endpoint.Do(chat)
			if a.Status == want {
				t.Logf("seen by another process after %v", time.Since(began))
				return a
			}
			if time.Since(began) > time.Second {
				t.Fatalf("a second later the call is still answered with %d %s", a.Status, a.Body)
			}
		}
	}
	put := Call{Method: "PUT", Path: path, Body: `{"state":"draining","reason":"the provider is down","actor":"ada"}`}
	if a := at.Do(put); a.Status != http.StatusOK || !strings.Contains(a.Body, `"state":"drained"`) {
		t.Fatalf("drain: %d %s", a.Status, a.Body)
	}
	if a := awaitStatus(http.StatusServiceUnavailable); !strings.Contains(a.Body, "overloaded") || !strings.Contains(a.Body, "the provider is down") {
		t.Errorf("a call is refused with %s", a.Body)
	}
	if a := c.api.admin.Do(get("/admin/v1/controls")); !strings.Contains(a.Body, `"actor":"ada"`) {
		t.Errorf("controls: %s", a.Body)
	}
	if a := at.Do(Call{Method: "DELETE", Path: path}); a.Status != http.StatusOK || !strings.Contains(a.Body, `"state":"open"`) {
		t.Fatalf("resume: %d %s", a.Status, a.Body)
	}
	awaitStatus(http.StatusOK)
}

// waits submits to a paused lane, and to one that is not, which shows that workers had the occasion.
func (c *cluster) waits(t *testing.T) {
	at, path := c.api.admin, "/admin/v1/controls/lane/standard"
	if a := at.Do(Call{Method: "PUT", Path: path, Body: `{"state":"paused","reason":"maintenance"}`}); a.Status != http.StatusOK {
		t.Fatalf("pause: %d %s", a.Status, a.Body)
	}
	for _, w := range c.workers {
		Await(t, "the workers to know of it", func() error {
			if n := w.metric(`penstock_paused\{kind="lane"\}`); n != 1 {
				return fmt.Errorf("a worker knows of %v paused lanes", n)
			}
			return nil
		})
	}
	id := c.submit("wait for the operator")
	bulk := c.api.endpoint.Do(post("/v1/jobs", `{"model":"fast","lane":"bulk","input":"no need to wait"}`, "Prefer", "wait=30"))
	if bulk.Status != http.StatusOK {
		t.Fatalf("the other lane: %d %s", bulk.Status, bulk.Body)
	}
	a := c.api.endpoint.Do(get("/v1/jobs/" + id))
	if !strings.Contains(a.Body, `"waiting_on":"paused"`) || !strings.Contains(a.Body, `"status":"queued"`) {
		t.Errorf("a job of the paused lane is %s", a.Body)
	}
	resumed := time.Now()
	at.Do(Call{Method: "DELETE", Path: path})
	job := c.finishes(t, id)
	t.Logf("started %v after the lane was resumed", job.StartedAt.Sub(resumed))
	if late := job.StartedAt.Sub(resumed); late < 0 || late > time.Second {
		t.Errorf("the job started %v after the lane was resumed", late)
	}
}

// survives kills one worker and looks for its items at the other.
func (c *cluster) survives(t *testing.T) {
	var inputs []string
	for n := range 2 * slots {
		inputs = append(inputs, fmt.Sprintf("item %d [sim:tokens=3 hold=survivors]", n))
	}
	id := c.submit(inputs...)
	c.awaitRunning(id, len(inputs)) // so both workers hold half of them
	killed := time.Now()
	c.workers[0].Kill()
	c.release("survivors")
	c.finishes(t, id)
	var delays []time.Duration
	results := c.api.endpoint.Do(get("/v1/jobs/" + id + "/results"))
	for line := range bytes.Lines([]byte(results.Body)) {
		var result struct {
			ItemID string `json:"item_id"`
		}
		if err := json.Unmarshal(line, &result); err != nil {
			t.Fatal(err)
		}
		item, err := fetch(t.Context(), c.api.endpoint, "/v1/items/"+result.ItemID, decoded[itemAnswer])
		if err != nil {
			t.Fatal(err)
		}
		if item.lost() > 0 {
			delays = append(delays, item.History[len(item.History)-1].StartedAt.Sub(killed))
		}
	}
	slices.Sort(delays)
	if len(delays) != slots {
		t.Fatalf("%d items were lost with the worker, want %d", len(delays), slots)
	}
	t.Logf("%d items of the dead worker ran again after p50 %v, max %v", len(delays), quantile(delays, 0.5), quantile(delays, 1))
	if worst := quantile(delays, 1); worst > clusterLease+takeoverSlack {
		t.Errorf("an item took %v to run again; a lease lasts %v", worst, clusterLease)
	}
}

// TestRoleNeedsADatabase: an SQLite file belongs to one process, which does everything.
func TestRoleNeedsADatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite)
	p := Start(t, r.env, "serve", "--config", r.config, "--role", "worker")
	if code := p.Exit(); code != 1 || !strings.Contains(p.Output(), "PENSTOCK_DATABASE_URL") {
		t.Errorf("exit code %d:\n%s", code, p.Output())
	}
}
