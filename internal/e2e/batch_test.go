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

// openAIBatch is what these tests read of one of OpenAI's batches.
type openAIBatch struct {
	ID            string                                 `json:"id"`
	Status        string                                 `json:"status"`
	OutputFileID  string                                 `json:"output_file_id"`
	ErrorFileID   string                                 `json:"error_file_id"`
	RequestCounts struct{ Total, Completed, Failed int } `json:"request_counts"`
	Errors        *struct{ Data []struct{ Line int } }
	Metadata      map[string]string
}

func openAILines(n int) string {
	var b strings.Builder
	for i := range n {
		prompt := fmt.Sprintf("openai line %d [sim:tokens=2]", i)
		if i == 1 {
			prompt = "openai line 1 [sim:fault=bad_request]"
		}
		fmt.Fprintf(&b, `{"custom_id":"row-%d","method":"POST","url":"/v1/chat/completions","body":{"model":"sim","messages":[{"role":"user","content":%q}]}}`+"\n", i, prompt)
	}
	return b.String()
}

// TestOpenAIBatch runs a batch with a failure among its lines through OpenAI's endpoint.
func TestOpenAIBatch(t *testing.T) {
	t.Parallel()
	s := stage(t).Server
	file := s.uploaded(openAILines(5))
	b := readAs[openAIBatch](t, s.Do(post("/v1/batches", `{"input_file_id":"`+file+`","endpoint":"/v1/chat/completions","completion_window":"24h","metadata":{"k":"v"}}`)))
	s.awaitBatch(&b, "completed")
	if b.RequestCounts.Total != 5 || b.RequestCounts.Completed != 4 || b.RequestCounts.Failed != 1 || b.Metadata["k"] != "v" {
		t.Errorf("the batch is %+v", b)
	}
	output := s.Do(get("/v1/files/" + b.OutputFileID + "/content")).Body
	failures := s.Do(get("/v1/files/" + b.ErrorFileID + "/content")).Body
	if strings.Count(output, `"status_code":200`) != 4 || strings.Contains(output, `"row-1"`) {
		t.Errorf("the output is %s", output)
	}
	if strings.Count(failures, "\n") != 1 || !strings.Contains(failures, `"custom_id":"row-1"`) || !strings.Contains(failures, `"status_code":400`) {
		t.Errorf("the errors are %s", failures)
	}
	list := s.Do(get("/v1/batches?limit=1")).Body
	if !strings.Contains(list, b.ID) {
		t.Errorf("the list is %s", list)
	}
	bad := readAs[openAIBatch](t, s.Do(post("/v1/batches", `{"input_file_id":"`+s.uploaded(openAILines(1)+"{}\n")+`","endpoint":"/v1/chat/completions","completion_window":"24h"}`)))
	if bad.Status != "failed" || bad.Errors == nil || bad.Errors.Data[0].Line != 2 {
		t.Errorf("a batch of a bad line is %+v", bad)
	}
	s.awaitBatch(&bad, "failed")
}

// TestOpenAIBatchStops cancels one batch halfway and lets another's window close.
func TestOpenAIBatchStops(t *testing.T) {
	t.Parallel()
	st := stage(t)
	s := st.Server
	st.setSim(t, `{"first_token_latency":"1s"}`)
	file := s.uploaded(batchLines(3000))
	create := func(window string) openAIBatch {
		return readAs[openAIBatch](t, s.Do(post("/v1/batches", `{"input_file_id":"`+file+`","endpoint":"/v1/chat/completions","completion_window":"`+window+`"}`)))
	}
	cancelled, expired := create("24h"), create("2s")
	s.awaitBatch(&cancelled, "in_progress")
	if stopping := readAs[openAIBatch](t, s.Do(post("/v1/batches/"+cancelled.ID+"/cancel", ""))); stopping.Status != "cancelling" && stopping.Status != "cancelled" {
		t.Errorf("after the cancel it is %+v", stopping)
	}
	s.awaitBatch(&cancelled, "cancelled")
	s.awaitBatch(&expired, "expired")
	for b, code := range map[*openAIBatch]string{&cancelled: "batch_cancelled", &expired: "batch_expired"} {
		failures := s.Do(get("/v1/files/" + b.ErrorFileID + "/content")).Body
		if c := b.RequestCounts; c.Total != 3000 || c.Completed+c.Failed != 3000 || strings.Count(failures, code) != c.Failed {
			t.Errorf("of %+v there are %d lines with %s", b, strings.Count(failures, code), code)
		}
	}
}

func (s *Server) awaitBatch(b *openAIBatch, want string) {
	s.t.Helper()
	Await(s.t, "the batch to be "+want, func() error {
		*b = readAs[openAIBatch](s.t, s.Do(get("/v1/batches/"+b.ID)))
		if b.Status != want {
			return fmt.Errorf("it is %+v", *b)
		}
		return nil
	})
}

func readAs[T any](t testing.TB, a Answer) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	return v
}

// messageBatch is what these tests read of one of Anthropic's batches.
type messageBatch struct {
	ID               string                                                          `json:"id"`
	ProcessingStatus string                                                          `json:"processing_status"`
	RequestCounts    struct{ Processing, Succeeded, Errored, Canceled, Expired int } `json:"request_counts"`
	ResultsURL       string                                                          `json:"results_url"`
}

// TestMessageBatch runs a batch with a failure through Anthropic's endpoint, reads its results and deletes it.
func TestMessageBatch(t *testing.T) {
	t.Parallel()
	s := stage(t).Server
	request := func(id, prompt string) string {
		return fmt.Sprintf(`{"custom_id":%q,"params":{"model":"sim","max_tokens":8,"messages":[{"role":"user","content":%q}]}}`, id, prompt)
	}
	b := readAs[messageBatch](t, s.Do(post("/v1/messages/batches", `{"requests":[`+request("a", "first [sim:tokens=2]")+`, `+request("b", "second [sim:fault=bad_request]")+`]}`)))
	Await(t, "the batch to end", func() error {
		if b = readAs[messageBatch](t, s.Do(get("/v1/messages/batches/"+b.ID))); b.ProcessingStatus != "ended" {
			return fmt.Errorf("it is %+v", b)
		}
		return nil
	})
	if b.RequestCounts.Succeeded != 1 || b.RequestCounts.Errored != 1 {
		t.Errorf("the batch is %+v", b)
	}
	results := s.Do(get(strings.TrimPrefix(b.ResultsURL, s.URL)))
	for _, want := range []string{`{"custom_id":"a","result":{"type":"succeeded","message":{`, `{"custom_id":"b","result":{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error"`} {
		if !strings.Contains(results.Body, want) {
			t.Errorf("the results lack %s: %s", want, results.Body)
		}
	}
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"nothing":     {`{"requests":[]}`, 400},
		"no requests": {`{"model":"sim"}`, 400},
		"cut off":     {`{"requests":[` + request("a", "x"), 400},
		"bad id":      {`{"requests":[` + request("a b", "x") + `]}`, 400},
		"an id twice": {`{"requests":[` + request("a", "x") + `,` + request("a", "x") + `]}`, 400},
		"no params":   {`{"requests":[{"custom_id":"a"}]}`, 400},
	} {
		if a := s.Do(post("/v1/messages/batches", c.body)); a.Status != c.status || !strings.Contains(a.Body, "type") {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	gone := s.Do(Call{Method: http.MethodDelete, Path: "/v1/messages/batches/" + b.ID})
	if gone.Status != http.StatusOK || !strings.Contains(gone.Body, "message_batch_deleted") {
		t.Errorf("delete: %d %s", gone.Status, gone.Body)
	}
	if a := s.Do(get("/v1/messages/batches/" + b.ID)); a.Status != http.StatusNotFound {
		t.Errorf("after the delete: %d %s", a.Status, a.Body)
	}
}

// TestMessageBatchOfSeveralModels holds that requests for several models are one batch to whoever sent them, from the
// first look to the last, though each model has a job of its own.
func TestMessageBatchOfSeveralModels(t *testing.T) {
	t.Parallel()
	s := stage(t).Server
	batch := func(models ...string) string {
		var requests []string
		for i, model := range models {
			requests = append(requests, fmt.Sprintf(`{"custom_id":"row-%d","params":{"model":%q,"max_tokens":8,"messages":[{"role":"user","content":"several %d [sim:hold=several]"}]}}`, i, model, i))
		}
		return `{"requests":[` + strings.Join(requests, ",") + `]}`
	}
	b := readAs[messageBatch](t, s.Do(post("/v1/messages/batches", batch("sim-a", "sim-b", "sim-a"))))
	if b.ProcessingStatus != "in_progress" || b.RequestCounts.Processing != 3 {
		t.Errorf("in the beginning it is %+v", b)
	}
	var jobs struct {
		Data []struct {
			ID, Model string
			Counts    struct{ Total int }
		}
	}
	if err := json.Unmarshal([]byte(s.Do(get("/v1/jobs")).Body), &jobs); err != nil || len(jobs.Data) != 2 || jobs.Data[0].Model != "sim-b" || jobs.Data[1].Counts.Total != 2 {
		t.Fatalf("its jobs are %+v: %v", jobs, err)
	}
	if a := s.Do(Call{Method: http.MethodDelete, Path: "/v1/messages/batches/" + b.ID}); a.Status != http.StatusConflict {
		t.Errorf("deleted while it runs: %d %s", a.Status, a.Body)
	}
	stopping := readAs[messageBatch](t, s.Do(post("/v1/messages/batches/"+b.ID+"/cancel", "")))
	if stopping.ProcessingStatus == "in_progress" {
		t.Errorf("after the cancel it is %+v", stopping)
	}
	Await(t, "the batch to end", func() error {
		if b = readAs[messageBatch](t, s.Do(get("/v1/messages/batches/"+b.ID))); b.ProcessingStatus != "ended" {
			return fmt.Errorf("it is %+v", b)
		}
		return nil
	})
	path := strings.TrimPrefix(b.ResultsURL, s.URL)
	if results := s.Do(get(path)).Body; b.RequestCounts.Canceled != 3 || strings.Count(results, `"type":"canceled"`) != 3 {
		t.Errorf("cancelled, it is %+v with %s", b, results)
	}
	for _, job := range jobs.Data { // one of them alone would leave a batch with holes
		if a := s.Do(Call{Method: http.MethodDelete, Path: "/v1/jobs/" + job.ID}); a.Status != http.StatusConflict || !strings.Contains(a.Body, "DELETE /v1/messages/batches/"+b.ID) {
			t.Errorf("delete a job of it: %d %s", a.Status, a.Body)
		}
	}
	if a := s.Do(get(path)); a.Status != http.StatusOK || strings.Count(a.Body, "\n") != 3 {
		t.Errorf("the results after that: %d %s", a.Status, a.Body)
	}
	if a := s.Do(Call{Method: http.MethodDelete, Path: "/v1/messages/batches/" + b.ID}); a.Status != http.StatusOK {
		t.Errorf("delete: %d %s", a.Status, a.Body)
	}
	for list, left := range map[string]int{"/v1/jobs": 0, "/v1/messages/batches": 0, "/v1/files": 0} {
		if a := s.Do(get(list)); strings.Count(a.Body, `"created_at"`) != left {
			t.Errorf("after the delete %s has %s", list, a.Body)
		}
	}
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprintf("sim-%d", i))
	}
	for _, models := range [][]string{many, {"sim", ""}} {
		if a := s.Do(post("/v1/messages/batches", batch(models...))); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "params.model") {
			t.Errorf("%d models: %d %s", len(models), a.Status, a.Body)
		}
	}
}

// TestResultsOfInputsAreAFileToo holds that a job that is not over a file has one made of its results when asked.
func TestResultsOfInputsAreAFileToo(t *testing.T) {
	t.Parallel()
	s := stage(t).Server
	body := `{"model":"sim","inputs":[{"custom_id":"a","body":{"messages":[{"role":"user","content":"one [sim:tokens=2]"}]}},` +
		`{"custom_id":"b","body":{"messages":[{"role":"user","content":"two [sim:fault=bad_request]"}]}}]}`
	id := strings.TrimPrefix(s.Do(post("/v1/jobs", body)).Header.Get("Location"), "/v1/jobs/")
	if early := s.Do(Call{Method: http.MethodPost, Path: "/v1/jobs/" + id + "/results/url"}); early.Status != http.StatusConflict && early.Status != http.StatusOK {
		t.Errorf("asked early: %d %s", early.Status, early.Body)
	}
	done := decodeJob(t, s.Do(Call{Method: http.MethodGet, Path: "/v1/jobs/" + id, Header: map[string]string{"Prefer": "wait=30"}}))
	if done.Counts.Succeeded != 1 || done.Counts.Failed != 1 {
		t.Errorf("the job is %+v", done)
	}
	s.checkArtifact(id, s.Do(get("/v1/jobs/"+id+"/results?order=input")).Body)
}
