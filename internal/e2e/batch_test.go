package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// batchJob is what these tests read of a job.
type batchJob struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Model  string `json:"model"`
	Counts struct{ Total, Queued, Running, Succeeded, Failed, Cancelled, Expired int }
	Rate   *float64 `json:"rate"`
}

// batchLines are lines for the model sim; those whose number bad names ask for another model.
func batchLines(n int, bad ...int) string {
	var b strings.Builder
	for i := range n {
		model := "sim"
		if slices.Contains(bad, i) {
			model = "other"
		}
		fmt.Fprintf(&b, `{"custom_id":"row-%d","body":{"model":%q,"messages":[{"role":"user","content":"line %d [sim:tokens=2]"}]}}`+"\n", i, model, i)
	}
	return b.String()
}

// uploaded uploads lines and returns the file's id.
func (s *Server) uploaded(lines string) string {
	s.t.Helper()
	a, err := s.upload(strings.NewReader(lines))
	if err != nil || a.Status != http.StatusOK {
		s.t.Fatalf("upload: %d %s %v", a.Status, a.Body, err)
	}
	var file struct{ ID string }
	if err := json.Unmarshal([]byte(a.Body), &file); err != nil {
		s.t.Fatal(err)
	}
	return file.ID
}

func decodeJob(t *testing.T, a Answer) (j batchJob) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), &j); err != nil {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	return j
}

// TestBatchOverFile runs a job over a file to its end: lines that cannot be run fail alone, and everything that can
// be read of it agrees.
func TestBatchOverFile(t *testing.T) {
	t.Parallel()
	st := stage(t)
	s := st.Server
	const n = 1300
	file := s.uploaded(batchLines(n, 0, 700, n-1))
	a := s.Do(post("/v1/jobs", `{"model":"sim","input_file":"`+file+`","defaults":{"max_tokens":5}}`, "Prefer", "wait=60"))
	job := decodeJob(t, a)
	if a.Status != http.StatusOK || job.Counts.Total != n || job.Counts.Succeeded != n-3 || job.Counts.Failed != 3 || job.Rate == nil {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	results := s.Do(Call{Method: http.MethodGet, Path: "/v1/jobs/" + job.ID + "/results?order=input"})
	if got := strings.Count(results.Body, "\n"); got != n {
		t.Errorf("there are %d results, want %d", got, n)
	}
	after := s.Do(Call{Method: http.MethodGet, Path: "/v1/jobs/" + job.ID + "/results?order=input&after=1290"})
	if !strings.HasSuffix(results.Body, after.Body) || strings.Count(after.Body, "\n") != n-1291 {
		t.Errorf("the results behind line 1290 are not the last of all:\n%.300s", after.Body)
	}
	failed := s.Do(Call{Method: http.MethodGet, Path: "/v1/jobs/" + job.ID + "/items?status=failed"})
	for _, want := range []string{`"custom_id":"row-0"`, `"custom_id":"row-700"`, `"custom_id":"row-1299"`, `body.model is`, `"has_more":false`} {
		if !strings.Contains(failed.Body, want) {
			t.Errorf("the items that failed do not tell %s: %s", want, failed.Body)
		}
	}
	s.checkTag(job.ID)
	s.checkArtifact(job.ID, results.Body)

	retried := decodeJob(t, s.Do(Call{Method: http.MethodPost, Path: "/v1/jobs/" + job.ID + "/retry", Header: map[string]string{"Prefer": "wait=30"}}))
	if retried.Counts.Total != 3 {
		t.Errorf("the retry has %+v", retried.Counts)
	}
}

// checkTag holds that a job that did not change is not sent again.
func (s *Server) checkTag(job string) {
	s.t.Helper()
	first := s.Do(Call{Method: http.MethodGet, Path: "/v1/jobs/" + job})
	tag := first.Header.Get("ETag")
	again := s.Do(Call{Method: http.MethodGet, Path: "/v1/jobs/" + job, Header: map[string]string{"If-None-Match": `"x", ` + tag}})
	if tag == "" || again.Status != http.StatusNotModified || again.Body != "" {
		s.t.Errorf("with If-None-Match %s: %d %q", tag, again.Status, again.Body)
	}
	if other := s.Do(Call{Method: http.MethodGet, Path: "/v1/jobs/" + job, Header: map[string]string{"If-None-Match": `"x"`}}); other.Status != http.StatusOK {
		s.t.Errorf("with another tag: %d", other.Status)
	}
}

// checkArtifact follows the link to a job's results, without a key.
func (s *Server) checkArtifact(job, results string) {
	s.t.Helper()
	var link struct{ URL string }
	Await(s.t, "the results to be written", func() error {
		a := s.Do(Call{Method: http.MethodPost, Path: "/v1/jobs/" + job + "/results/url"})
		if a.Status != http.StatusOK {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return json.Unmarshal([]byte(a.Body), &link)
	})
	a := s.Do(Call{Method: http.MethodGet, Path: strings.TrimPrefix(link.URL, s.URL), Header: map[string]string{"Authorization": "none"}})
	if a.Status != http.StatusOK || a.Body != results {
		s.t.Errorf("the artifact is not the results: %d, %d bytes instead of %d", a.Status, len(a.Body), len(results))
	}
}

// TestBatchIsRefused goes through what no job can be made of.
func TestBatchIsRefused(t *testing.T) {
	t.Parallel()
	s := stage(t).Server
	good, bad := s.uploaded(batchLines(2)), s.uploaded(batchLines(2)+"nonsense\n")
	messages := s.uploaded(`{"custom_id":"a","method":"POST","url":"/v1/messages","body":{"model":"sim","max_tokens":3,"messages":[]}}` + "\n")
	for name, c := range map[string]struct{ body, says string }{
		"line errors":     {`{"model":"sim","input_file":"` + bad + `"}`, "Line 3:"},
		"both":            {`{"model":"sim","input":"Hi","input_file":"` + good + `"}`, "exactly one"},
		"no such file":    {`{"model":"sim","input_file":"file_01JQ0000000000000000000000"}`, "There is no file_"},
		"no file id":      {`{"model":"sim","input_file":"job_1"}`, "input_file"},
		"other endpoint":  {`{"model":"sim","endpoint":"/v1/embeddings","input_file":"` + messages + `"}`, "/v1/messages"},
		"streamed":        {`{"model":"sim","defaults":{"stream":true},"input_file":"` + good + `"}`, "defaults.stream"},
		"defaults":        {`{"model":"sim","defaults":[],"input_file":"` + good + `"}`, "defaults"},
		"without a model": {`{"input":"Hi"}`, "model"},
	} {
		if a := s.Do(post("/v1/jobs", c.body)); a.Status/100 != 4 || !strings.Contains(a.Body, c.says) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	named := decodeJob(t, s.Do(post("/v1/jobs", `{"input_file":"`+good+`"}`, "Prefer", "wait=30")))
	if named.Model != "sim" || named.Counts.Succeeded != 2 {
		t.Errorf("a job whose lines name the model: %+v", named)
	}
}
