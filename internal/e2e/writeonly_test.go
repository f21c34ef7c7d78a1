package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"penstock"
)

// writes are the calls that a key with jobs:write alone can make, by method and path as the server describes them. In a body, JOB,
// FILE and the like stand for things that have results by then.
var writes = map[string][]string{
	"POST /v1/jobs": {
		`{"model":"fast","input":"Hi"}`, `{"model":"fast","inputs":[{"body":{"messages":[{"role":"user","content":"Hi"}]}}],"stream":true}`,
		`{"model":"fast","input":"Hi","dry_run":true}`, `{"model":"fast","input_file":"FILE"}`,
	},
	"POST /v1/jobs/{id}/cancel":             {""},
	"POST /v1/jobs/{id}/retry":              {"", `{"resolve":"fresh"}`},
	"DELETE /v1/jobs/{id}":                  {""},
	"POST /v1/dead_letters/retry":           {`{}`, `{"dry_run":true}`},
	"POST /v1/dead_letters/dismiss":         {`{}`, `{"dry_run":true}`},
	"POST /v1/files":                        {""},
	"DELETE /v1/files/{id}":                 {""},
	"POST /v1/batches":                      {`{"input_file_id":"FILE","endpoint":"/v1/chat/completions","completion_window":"24h"}`},
	"POST /v1/batches/{id}/cancel":          {""},
	"POST /v1/messages/batches":             {`{"requests":[{"custom_id":"a","params":{"model":"fast","max_tokens":2,"messages":[{"role":"user","content":"Hi"}]}}]}`},
	"POST /v1/messages/batches/{id}/cancel": {""},
	"DELETE /v1/messages/batches/{id}":      {""},
	"POST /v1/uploads":                      {`{"filename":"a.txt","purpose":"user_data","bytes":5}`},
	"POST /v1/uploads/{id}/parts":           {partForm},
	"POST /v1/uploads/{id}/complete":        {`{"part_ids":["PART"]}`},
	"POST /v1/uploads/{id}/cancel":          {""},
}

// formType is the type of batchForm and of partForm, which is a part of an upload.
const (
	formType = "multipart/form-data; boundary=x"
	partForm = "--x\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a\"\r\n\r\nHello\r\n--x--\r\n"
)

// TestWriteOnlyKeysReadNothing makes every call that the route table opens to jobs:write, with a key that has no other scope, on
// work that has results, and holds that no answer shows any of them.
func TestWriteOnlyKeysReadNothing(t *testing.T) {
	t.Parallel()
	const writeOnly = "psk_e2e_writer_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	s := serveWithKeys(t, startCareless(t).URL, writeOnly)
	all := readContract(t, s.URL).operations()
	as := func(c Call) Answer { return s.Do(madeKey{Secret: writeOnly}.as(c)) }
	shown := s.Do(post("/v1/jobs", writes["POST /v1/jobs"][0], "Prefer", "wait=20"))
	if !strings.Contains(shown.Body, generated) {
		t.Fatalf("even jobs:read shows no result, so nothing could be found here: %s", shown.Body)
	}
	tried := 0
	for _, op := range all {
		if op.scope != penstock.ScopeJobsWrite {
			if op.scope != "" && !op.open && op.method == http.MethodGet && !strings.Contains(op.path, "{") {
				if a := as(get(op.path)); a.Status != http.StatusForbidden {
					t.Errorf("%s %s is open to jobs:write: %d %s", op.method, op.path, a.Status, a.Body)
				}
			}
			continue
		}
		bodies, known := writes[op.method+" "+op.path]
		if !known {
			t.Errorf("%s %s is not tried: add what it is called with", op.method, op.path)
		}
		for i, body := range bodies {
			c := Call{Method: op.method, Path: strings.Replace(op.path, "{id}", finishedID(t, s, op.path), 1), Header: map[string]string{"Prefer": "wait=20"}}
			if c.Body = body; strings.Contains(body, "FILE") {
				c.Body = strings.ReplaceAll(body, "FILE", finishedID(t, s, "/v1/files/{id}"))
			}
			if strings.Contains(body, "PART") {
				part := s.Do(post(strings.TrimSuffix(c.Path, "complete")+"parts", partForm, "Content-Type", formType))
				c.Body = strings.ReplaceAll(body, "PART", found(t, `"id":"(part_[0-9A-Za-z]+)"`, part.Body))
			}
			if op.path == "/v1/files" {
				c.Body = batchForm
			}
			if strings.HasPrefix(c.Body, "--x") {
				c.Header["Content-Type"] = formType
			}
			if op.path == "/v1/jobs" || strings.HasSuffix(op.path, "es") && op.method == http.MethodPost && op.path != "/v1/files" {
				c.Header["Idempotency-Key"] = fmt.Sprint("once-", op.path, i)
			}
			for range 2 { // the second is a replay, or finds it done
				a := as(c)
				tried++
				if strings.Contains(a.Body, generated) {
					t.Errorf("%s %s %s shows a result: %s", op.method, op.path, body, a.Body)
				}
				if a.Status == http.StatusForbidden || a.Status >= http.StatusInternalServerError {
					t.Errorf("%s %s %s: %d %s", op.method, op.path, body, a.Status, a.Body)
				}
			}
		}
	}
	if tried < 2*len(writes) {
		t.Errorf("%d calls were tried of %d kinds", tried, len(writes))
	}
}

// TestWriteOnlyKeysDownloadNothing makes every call that the route table wants jobs:read for, with a key that has jobs:write alone,
// on a batch that has results: all are refused, the content of its output file and links to it among them. Nor does the file show
// anything as the input of further work.
func TestWriteOnlyKeysDownloadNothing(t *testing.T) {
	t.Parallel()
	const writeOnly = "psk_e2e_writer_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	s := serveWithKeys(t, startCareless(t).URL, writeOnly)
	as := func(c Call) Answer { return s.Do(madeKey{Secret: writeOnly}.as(c)) }
	batch := finishedID(t, s, "/v1/batches/{id}")
	output := found(t, `"output_file_id":"(file[-_][0-9A-Za-z]+)"`, s.Do(get("/v1/batches/"+batch)).Body)
	job := "job_" + strings.TrimPrefix(batch, "batch_")
	if a := s.Do(get("/v1/files/" + output + "/content")); !strings.Contains(a.Body, generated) {
		t.Fatalf("even jobs:read shows no result: %d %s", a.Status, a.Body)
	}
	ids := map[string]string{"/v1/files/": output, "/v1/batches/": batch, "/v1/jobs/": job,
		"/v1/messages/batches/": finishedID(t, s, "/v1/messages/batches/{id}"), "/v1/items/": idFrom(t, s, job), "/v1/lookup/": job}
	tried := map[string]bool{}
	for _, op := range readContract(t, s.URL).operations() {
		if op.scope != penstock.ScopeJobsRead {
			continue
		}
		path := op.path
		for root, id := range ids {
			path = strings.Replace(path, root+"{id}", root+id, 1)
		}
		if strings.Contains(path, "{") {
			t.Errorf("%s %s is not tried: add the id of something that has results", op.method, op.path)
		}
		tried[op.method+" "+op.path] = true
		if a := as(Call{Method: op.method, Path: path}); a.Status != http.StatusForbidden || !strings.Contains(a.Body, "jobs:read") {
			t.Errorf("%s %s: %d %s", op.method, path, a.Status, a.Body)
		}
	}
	for _, want := range []string{"GET /v1/files/{id}/content", "POST /v1/files/{id}/url", "POST /v1/jobs/{id}/results/url", "GET /v1/jobs/{id}/results", "GET /v1/messages/batches/{id}/results"} {
		if !tried[want] {
			t.Errorf("%s was not tried", want)
		}
	}
	for _, c := range []Call{post("/v1/jobs", `{"model":"fast","input_file":"`+output+`"}`), post("/v1/batches", strings.ReplaceAll(writes["POST /v1/batches"][0], "FILE", output))} {
		if a := as(c); strings.Contains(a.Body, generated) {
			t.Errorf("%s over results shows them: %d %s", c.Path, a.Status, a.Body)
		}
	}
}

// idFrom is the id of an item of a job.
func idFrom(t *testing.T, s *Server, job string) string {
	t.Helper()
	return found(t, `"id":"(item_[0-9A-Za-z]+)"`, s.Do(get("/v1/jobs/"+job+"/items")).Body)
}

// serveWithKeys serves with the usual key, and one that only writes.
func serveWithKeys(t *testing.T, upstream, writeOnly string) *Server {
	t.Helper()
	address, path := FreeAddress(t), filepath.Join(t.TempDir(), "penstock.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
providers: {up: {kind: openai, base_url: %s/v1}}
targets: {small: {provider: up, upstream_model: cheap}}
models: {fast: {targets: [small]}}
tenants: {acme: {keys: [{name: e2e, secret: "${E2E_KEY}"}, {name: writer, secret: "${E2E_WRITER}", scopes: ["jobs:write"]}]}}
`, address, FreeAddress(t), t.TempDir(), upstream), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Process: Start(t, []string{"E2E_KEY=" + Key, "E2E_WRITER=" + writeOnly}, "serve", "--config", path), URL: "http://" + address}
	s.AwaitReady()
	return s
}

const batchForm = "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n" +
	"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"rows.jsonl\"\r\n\r\n" +
	`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"fast","messages":[{"role":"user","content":"Hi"}]}}` + "\r\n--x--\r\n"

// finishedID is the id of something of the kind that a path names, which has its results.
func finishedID(t *testing.T, s *Server, path string) string {
	t.Helper()
	if !strings.Contains(path, "{id}") {
		return ""
	}
	upload := func() string {
		return found(t, `"id":"(file[-_][0-9A-Za-z]+)"`, s.Do(post("/v1/files", batchForm, "Content-Type", formType)).Body)
	}
	switch {
	case strings.HasPrefix(path, "/v1/jobs/"):
		return found(t, `"id":"(job_[0-9A-Za-z]+)"`, s.Do(post("/v1/jobs", writes["POST /v1/jobs"][0], "Prefer", "wait=20")).Body)
	case strings.HasPrefix(path, "/v1/files/"):
		return upload()
	case strings.HasPrefix(path, "/v1/uploads/"):
		return found(t, `"id":"(upload_[0-9A-Za-z]+)"`, s.Do(post("/v1/uploads", writes["POST /v1/uploads"][0])).Body)
	case strings.HasPrefix(path, "/v1/batches/"):
		return ended(t, s, "/v1/batches/", found(t, `"id":"(batch_[0-9A-Za-z]+)"`, s.Do(post("/v1/batches", strings.ReplaceAll(writes["POST /v1/batches"][0], "FILE", upload()))).Body))
	default:
		return ended(t, s, "/v1/messages/batches/", found(t, `"id":"(msgbatch_[0-9A-Za-z]+)"`, s.Do(post("/v1/messages/batches", writes["POST /v1/messages/batches"][0])).Body))
	}
}

// ended waits for the end of a batch.
func ended(t *testing.T, s *Server, root, id string) string {
	t.Helper()
	Await(t, "the end of "+id, func() error {
		var b struct {
			Status           string
			ProcessingStatus string `json:"processing_status"`
		}
		a := s.Do(get(root + id))
		if err := json.Unmarshal([]byte(a.Body), &b); err != nil || b.Status != "completed" && b.ProcessingStatus != "ended" {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	return id
}
