package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// envReaders asks for the whole crowd: 200 jobs with ten readers each.
const envReaders = "PENSTOCK_SOAK_READERS"

// crowd is how many follow how many jobs.
type crowd struct{ jobs, readers int }

func theCrowd(t *testing.T) crowd {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(envReaders))
	switch {
	case os.Getenv(envReaders) == "":
		return crowd{jobs: 20, readers: 10}
	case err != nil || n < 1:
		t.Fatalf("%s must be a number of readers", envReaders)
	}
	return crowd{jobs: max(n/10, 1), readers: 10}
}

// Readers of streaming jobs, half of which come and go, end with the very same output, which is the answer that the
// job keeps; also when the server is killed while they read, and items begin anew.
func TestReadersOfStreamsAgree(t *testing.T) {
	t.Parallel()
	c := theCrowd(t)
	upstream := FreeAddress(t)
	Start(t, nil, "sim", "--listen", upstream, "--tokens-per-second", "40", "--output-tokens", "120", "--jitter", "0.5")
	address, start := serveAgain(t, fmt.Sprintf(`
work: {slots: %d, lease_timeout: 2s}
providers: {upstream: {kind: openai, base_url: http://%s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small}}
models: {fast: {targets: [sim]}}
`, c.jobs, upstream))
	s := &Server{Process: start(), URL: "http://" + address}
	s.AwaitReady()
	jobs := make([]string, c.jobs)
	for i := range jobs {
		jobs[i] = s.streaming(fmt.Sprintf("Tell me about number %d.", i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var said atomic.Int64 // deltas that anyone was shown
	var readers sync.WaitGroup
	outputs := make([][]string, c.jobs)
	for i, job := range jobs {
		outputs[i] = make([]string, c.readers)
		for r := range c.readers {
			readers.Go(func() {
				f := &follower{s: s, job: job, fickle: r%2 == 1, said: &said}
				outputs[i][r] = f.read(ctx)
			})
		}
	}
	began := time.Now()
	Await(t, "all jobs to speak", func() error {
		if n := said.Load(); n < int64(c.jobs*c.readers) {
			return fmt.Errorf("%d deltas were shown", n)
		}
		return nil
	})
	t.Logf("%d readers of %d jobs; killed the server after %v", c.jobs*c.readers, c.jobs, time.Since(began))
	s.Kill()
	<-s.Ended()
	s = &Server{Process: start(), URL: s.URL} // readers find it where the first one was
	readers.Wait()
	t.Logf("all read to the end after %v, and saw %d deltas", time.Since(began), said.Load())
	for i, job := range jobs {
		want := s.answerOf(job)
		for r, got := range outputs[i] {
			if got != want || want == "" {
				t.Errorf("reader %d of %s ends with %q, but the answer is %q", r, job, got, want)
			}
		}
	}
}

// serveAgain prepares a server that can be started more than once on the same data and address.
func serveAgain(t *testing.T, settings string) (address string, start func() *Process) {
	t.Helper()
	address = FreeAddress(t)
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
%s
tenants: {acme: {keys: [{name: e2e, secret: "${E2E_KEY}"}]}}
`, address, FreeAddress(t), t.TempDir(), settings), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return address, func() *Process { return Start(t, []string{"E2E_KEY=" + Key}, "serve", "--config", path) }
}

// streaming submits a job that shows its answer while it arrives.
func (s *Server) streaming(question string) string {
	s.t.Helper()
	a := s.Do(Call{Method: "POST", Path: "/v1/jobs", Body: fmt.Sprintf(`{"model":"fast","input":%q,"stream":true}`, question)})
	var job struct{ ID string }
	if err := json.Unmarshal([]byte(a.Body), &job); err != nil || a.Status != http.StatusAccepted {
		s.t.Fatalf("submitting: %d %s", a.Status, a.Body)
	}
	return job.ID
}

// answerOf is the text of a job's only answer.
func (s *Server) answerOf(job string) string {
	s.t.Helper()
	var got struct {
		Status string
		Result struct {
			Response struct {
				Body struct {
					Choices []struct{ Message struct{ Content string } }
					Usage   struct {
						CompletionTokens int `json:"completion_tokens"`
					}
				}
			}
		}
	}
	a := s.Do(Call{Method: "GET", Path: "/v1/jobs/" + job})
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || got.Status != "succeeded" || len(got.Result.Response.Body.Choices) != 1 ||
		got.Result.Response.Body.Usage.CompletionTokens == 0 {
		s.t.Errorf("%s: %v, %s", job, err, a.Body)
		return ""
	}
	return got.Result.Response.Body.Choices[0].Message.Content
}

// follower reads a job's events to their end, over as many connections as it takes.
type follower struct {
	s      *Server
	job    string
	fickle bool // it leaves now and then, and comes back
	said   *atomic.Int64
	last   string // the id of the last event
	text   strings.Builder
	over   bool
}

func (f *follower) read(ctx context.Context) string {
	for !f.over && ctx.Err() == nil {
		if err := f.connect(ctx); err != nil {
			pause := time.NewTimer(time.Duration(20+rand.IntN(80)) * time.Millisecond)
			<-pause.C
		}
	}
	return f.text.String()
}

// errLeft is why a fickle reader reads no further.
var errLeft = errors.New("the reader left")

func (f *follower) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", f.s.URL+"/v1/jobs/"+f.job+"/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	if f.last != "" {
		req.Header.Set("Last-Event-ID", f.last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	lines := bufio.NewReader(resp.Body)
	leaveAfter := 1 + rand.IntN(20)
	var id string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err // half a line is none
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			if err := f.take(id, value); err != nil || f.over {
				return err
			}
			if leaveAfter--; f.fickle && leaveAfter == 0 {
				return errLeft
			}
		}
	}
}

func (f *follower) take(id, data string) error {
	var e struct {
		Type string
		Data struct{ Text string }
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return err
	}
	f.last = id
	switch e.Type {
	case "item.delta":
		f.text.WriteString(e.Data.Text)
		f.said.Add(1)
	case "item.reset":
		f.text.Reset()
	case "job.finished":
		f.over = true
	}
	return nil
}
