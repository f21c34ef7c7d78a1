package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// liveStream is an open stream of live events.
type liveStream struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
}

// followLive opens a stream and waits for its first event.
func followLive(t *testing.T, s *Server, c Call) *liveStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+c.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	for name, value := range c.Header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s: %d %v", c.Path, resp.StatusCode, resp.Header)
	}
	l := &liveStream{t, bufio.NewScanner(resp.Body), func() { cancel(); _ = resp.Body.Close() }}
	t.Cleanup(l.close)
	l.await("event: hello")
	return l
}

// await reads lines until one contains a text, and returns this line; "" at the end of the stream.
func (l *liveStream) await(text string) string {
	l.t.Helper()
	for l.lines.Scan() {
		if strings.Contains(l.lines.Text(), text) {
			return l.lines.Text()
		}
	}
	l.t.Fatalf("the stream ended before %q: %v", text, l.lines.Err())
	return ""
}

// shows holds that a page at the process that serves sees the state of a job that another process runs.
func (c *cluster) shows(t *testing.T) {
	tenant := followLive(t, c.api.endpoint, get("/v1/live?topics=jobs,load"))
	all := followLive(t, c.api.admin, get("/admin/v1/live?topics=batches", "Authorization", "Bearer "+AdminKey))
	id := c.submit("seen", "by pages")
	for _, l := range []*liveStream{tenant, all} {
		for !strings.Contains(l.await(`"id":"`+id+`"`), `"succeeded":2`) {
		}
	}
}

// TestLive follows a job, stops the server, and resumes at its successor.
func TestLive(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := Dev(t, data)
	l := followLive(t, s, get("/v1/live?topics=jobs"))
	first := strings.TrimPrefix(l.await("id: "), "id: ")
	if a := s.Do(post("/v1/jobs", `{"model":"echo","input":"seen"}`)); a.Status != http.StatusAccepted {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for !strings.Contains(l.await(`"type":"job.`), `"status":"succeeded"`) {
	}
	if again := followLive(t, s, get("/v1/live?topics=jobs", "Last-Event-ID", first)); !strings.Contains(again.await(`"type":"job.changed"`), `"succeeded"`) {
		t.Error("the missed event was not sent again")
	}
	if a := s.Do(get("/v1/live?topics=targets")); a.Status != http.StatusBadRequest {
		t.Errorf("the topic of operators: %d %s", a.Status, a.Body)
	}
	go s.Stop()
	l.await("retry: 2000")
	<-s.Ended()
	next := followLive(t, Dev(t, data), get("/v1/live?topics=jobs", "Last-Event-ID", first))
	next.await("event: reset")
}

// TestIdleConsoles measures the CPU time that 100 open consoles cost an idle server.
func TestIdleConsoles(t *testing.T) {
	t.Parallel()
	const consoles, most = 100, 0.01
	s := Dev(t, t.TempDir())
	used := func(d time.Duration) float64 {
		before := cpuTime(t, s)
		<-time.After(d)
		return (cpuTime(t, s) - before).Seconds() / d.Seconds()
	}
	<-time.After(time.Second) // the server has started
	without := used(3 * time.Second)
	for range consoles {
		l := followLive(t, s, get("/v1/live"))
		go func() {
			for l.lines.Scan() {
			}
		}()
	}
	<-time.After(time.Second) // the first figures are sent
	with := used(4 * time.Second)
	t.Logf("an idle server uses %.2f %% of a core, and %.2f %% with %d consoles", 100*without, 100*with, consoles)
	if with-without > most {
		t.Errorf("%d consoles use %.2f %% of a core, want at most %.0f %%", consoles, 100*(with-without), 100*most)
	}
}

// cpuTime is the CPU time that a process used so far, over all of its threads.
func cpuTime(t *testing.T, s *Server) (sum time.Duration) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d threads", err, len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread ended
		}
		var ran int64
		if _, err := fmt.Sscan(string(text), &ran); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(ran)
	}
	return sum
}
