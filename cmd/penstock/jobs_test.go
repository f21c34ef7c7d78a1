package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/client"
)

// fake answers paths (with their queries) with text, and remembers what was asked.
type fake struct {
	answers map[string]string

	mu    sync.Mutex
	asked []string
	body  string // of the last call
	head  http.Header
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	call := r.Method + " " + r.URL.RequestURI()
	f.mu.Lock()
	f.asked, f.body, f.head = append(f.asked, call), string(body), r.Header
	f.mu.Unlock()
	text, ok := f.answers[call]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		text = `{"error":{"code":"not_found","message":"There is no ` + strings.ReplaceAll(call, `"`, "") + `."}}`
	}
	_, _ = io.WriteString(w, text)
}

const resultJSON = `{"seq":3,"index":0,"custom_id":"row-1","item_id":"item_1","status":"succeeded","target":"mini","attempts":2,` +
	`"response":{"status_code":200,"body":{"choices":[{"message":{"role":"assistant","content":"Blue\n\u001b[31mlight <scatters>."}}]}},"error":null,` +
	`"usage":{"input_tokens":12,"cached_input_tokens":4,"output_tokens":9,"cost_usd":"0.000041200"},"finished_at":"2026-11-15T02:59:02Z"}`

const failedJSON = `{"seq":4,"index":1,"custom_id":null,"item_id":"item_2","status":"failed","target":null,"attempts":1,` +
	`"response":null,"error":{"code":"poison","message":"It took down 3 workers."},` +
	`"usage":{"input_tokens":0,"cached_input_tokens":0,"output_tokens":0,"cost_usd":"0.000000000"},"finished_at":"2026-11-15T02:59:03Z"}`

// job is a finished job whose counts and result are given.
func job(outcome, counts, result string) string {
	return `{"id":"job_1","object":"job","status":"succeeded","outcome":"` + outcome + `","endpoint":"/v1/chat/completions","model":"fast",` +
		`"lane":"bulk","tags":{"team":"search","env":"test"},"counts":{` + counts + `},` +
		`"usage":{"input_tokens":12,"cached_input_tokens":0,"output_tokens":9,"cost_usd":"0.000041200"},` +
		`"created_at":"2026-11-15T02:59:00Z","started_at":"2026-11-15T02:59:01Z","finished_at":"2026-11-15T02:59:02.5Z",` +
		`"deadline":"2026-11-16T02:59:00Z","resolved":{"config":"cfg_1","targets":["mini","large"]},"error":null,"result":` + result + `}`
}

var (
	oneJob   = job("all_succeeded", `"total":1,"succeeded":1`, resultJSON)
	mixedJob = job("mixed", `"total":3,"succeeded":1,"failed":1,"expired":1`, "null")
)

const queuedJob = `{"id":"job_1","status":"queued","outcome":null,"model":"fast","counts":{"total":1,"queued":1},"created_at":"2026-11-15T02:59:00Z"}`

func TestJobsGet(t *testing.T) {
	t.Parallel()
	d := at(t, &fake{answers: map[string]string{"GET /v1/jobs/job_1": oneJob}})
	const want = `Job       job_1
Status    succeeded (all_succeeded)
Items     1: 1 succeeded
Model     fast
Targets   mini, large
Lane      bulk
Tags      env:test, team:search
Tokens    12 in, 9 out
Cost      $0.000041200
Config    cfg_1
Created   2026-11-15T02:59:00Z
Started   2026-11-15T02:59:01Z
Finished  2026-11-15T02:59:02.5Z
Took      1.5s
Item      item_1
Answer    Blue  [31mlight <scatters>.
`
	check(t, d.run("jobs", "get", "job_1"), typed{stdout: want})
	check(t, d.run("jobs", "get", "job_1", "-o", "json"), typed{stdout: oneJob + "\n"})
	d.terminal = true
	if got := d.ok("jobs", "get", "job_1"); !strings.Contains(got, "Created   60s ago\n") {
		t.Errorf("a terminal shows\n%s", got)
	}
}

func TestJobsCancel(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string]string{"POST /v1/jobs/job_1/cancel": oneJob}}
	check(t, at(t, f).run("jobs", "cancel", "job_1", "-o", "json"), typed{stdout: oneJob + "\n"})
}

func TestJobsDelete(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string]string{"DELETE /v1/jobs/job_1": `{"id":"job_1","object":"job","deleted":true}`}}
	check(t, at(t, f).run("jobs", "delete", "job_1"), typed{stdout: "Deleted  job_1\n"})
	check(t, at(t, f).run("jobs", "delete", "job_1", "-o", "json"), typed{stdout: `{"id":"job_1","deleted":true}` + "\n"})
}

func TestJobsList(t *testing.T) {
	t.Parallel()
	const two = `{"object":"list","data":[` + queuedJob + `,{"id":"job_0","x":"<&>"}],"has_more":false}`
	f := &fake{answers: map[string]string{
		"GET /v1/jobs?limit=21": two,
		"GET /v1/jobs?limit=2":  two,
		"GET /v1/jobs?created_after=2026-11-14T03%3A00%3A00Z&created_before=2026-11-15T00%3A00%3A00Z" +
			"&lane=bulk&limit=21&model=fast&status=failed&tag=team%3Asearch": `{"data":[],"has_more":false}`,
	}}
	d := at(t, f)
	check(t, d.run("jobs", "list"), typed{stdout: "" +
		"JOB    STATUS  OUTCOME  DONE  MODEL  LANE  COST          CREATED\n" +
		"job_1  queued  -        0/1   fast   -     $0.000000000  2026-11-15T02:59:00Z\n" +
		"job_0  -       -        0/0   -      -     $0.000000000  -\n"})
	check(t, d.run("jobs", "list", "-o", "json"), typed{stdout: two + "\n"})
	check(t, d.run("jobs", "list", "--limit", "1", "-o", "json"),
		typed{stdout: `{"object":"list","data":[` + queuedJob + `],"has_more":true}` + "\n"})
	if got := d.run("jobs", "list", "--limit", "1"); got.stderr != "There are more; --limit shows them.\n" || strings.Contains(got.stdout, "job_0") {
		t.Errorf("%+v", got)
	}
	none := d.run("jobs", "list", "--status", "failed", "--lane", "bulk", "--model", "fast", "--tag", "team=search",
		"--since", "24h", "--before", "2026-11-15T00:00:00Z")
	check(t, none, typed{stderr: "There are no such jobs.\n"})
}

func TestJobsSubmitPrompt(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string]string{"POST /v1/jobs": queuedJob}}
	d := at(t, f)
	check(t, d.run("jobs", "submit", "--model", "fast", "--lane", "bulk", "--tag", "a=b", "--tag", "c=d=e", "--deadline", "8h",
		"--max-attempts", "2", "--item-timeout", "90s", "--idempotency-key", "k-1", "Why?"), typed{stdout: "job_1\n"})
	want := `{"model":"fast","input":"Why?","lane":"bulk","deadline":"2026-11-15T11:00:00Z","max_attempts":2,` +
		`"tags":{"a":"b","c":"d=e"},"item_timeout":"1m30s"}`
	if f.body != want || f.head.Get("Idempotency-Key") != "k-1" || f.head.Get("Prefer") != "" {
		t.Errorf("it submits %s under %q", f.body, f.head.Get("Idempotency-Key"))
	}
	check(t, d.run("jobs", "submit", "-m", "fast", "Why?", "-o", "json"), typed{stdout: queuedJob + "\n"})

	d.stdin = "Two\nlines\n"
	d.ok("jobs", "submit", "-m", "fast", "-")
	if want := `{"model":"fast","input":"Two\nlines"}`; f.body != want {
		t.Errorf("it submits %s, want %s", f.body, want)
	}
	d.stdin = " \n"
	check(t, d.run("jobs", "submit", "-m", "fast", "-"),
		typed{code: exitError, stderr: "penstock: standard input is empty; write the prompt to it\n"})
	d.terminal = true
	check(t, d.run("jobs", "submit", "-m", "fast", "Why?"),
		typed{stdout: "job_1\n", stderr: "Accepted. Follow it with: penstock jobs watch job_1\n"})
}

// A prompt of the registry is enough for a job.
func TestJobsSubmitPromptOfTheRegistry(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string]string{"POST /v1/jobs": queuedJob}}
	d := at(t, f)
	d.stdin = `{"n":7,"a":"file"}`
	d.ok("jobs", "submit", "--prompt", "support/answer", "--vars", "-", "--var", "a=flag")
	if want := `{"prompt":{"name":"support/answer","variables":{"a":"flag","n":7}}}`; f.body != want {
		t.Errorf("it submits %s, want %s", f.body, want)
	}
	for _, args := range [][]string{{"--var", "a=b", "-m", "fast", "Hi"}, {"--prompt", "support/answer@"}, {"--prompt", "a", "--var", "b"}} {
		if got := d.run(append([]string{"jobs", "submit"}, args...)...); got.code != exitUsage {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestJobsSubmitDryRun(t *testing.T) {
	t.Parallel()
	answer := `{"object":"job.dry_run","admitted":true,"refusal":null,"items":2,"target":"mini","estimate":{"input_tokens":20,"output_tokens":9,"cost_usd":"0.000041200"},` +
		`"at_most":{"tokens":200,"cost_usd":"0.000400000"},"estimated_finish_at":null,"waiting_on":null,"warnings":[]}`
	f := &fake{answers: map[string]string{"POST /v1/jobs": answer}}
	d := at(t, f)
	out := d.ok("jobs", "submit", "-m", "fast", "--dry-run", "Why?")
	for _, want := range []string{"about 20 in, 9 out", "about $0.000041200", "200 tokens, $0.000400000", "mini"} {
		if !strings.Contains(out, want) {
			t.Errorf("it prints %s without %s", out, want)
		}
	}
	f.answers["POST /v1/jobs"] = strings.Replace(answer, `"cost_usd":"0.000041200"`, `"cost_usd":null`, 1)
	if out := d.ok("jobs", "submit", "-m", "fast", "--dry-run", "Why?"); !strings.Contains(out, "Cost     not known\nAt most  200 tokens\n") {
		t.Errorf("without a price it prints %s", out)
	}
	f.answers["POST /v1/jobs"] = answer
	if want := `{"model":"fast","input":"Why?","dry_run":true}`; f.body != want || f.head.Get("Idempotency-Key") != "" {
		t.Errorf("it sends %s under %q", f.body, f.head.Get("Idempotency-Key"))
	}
	check(t, d.run("jobs", "submit", "-m", "fast", "--dry-run", "Why?", "-o", "json"), typed{stdout: answer + "\n"})
	f.answers["POST /v1/jobs"] = strings.Replace(answer, `"admitted":true,"refusal":null`, `"admitted":false,"refusal":{"code":"budget_exceeded","message":"No."}`, 1)
	if got := d.run("jobs", "submit", "-m", "fast", "--dry-run", "Why?"); got.code != exitError || !strings.Contains(got.stderr, "it would be refused: budget_exceeded: No.") {
		t.Errorf("a job that would be refused: %+v", got)
	}
}

func TestJobsSubmitFile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file string
		args       []string
		want       string // what is submitted
		wrong      string // or what is wrong with the file, after its name
	}{
		{name: "a body", file: "{\n \"messages\": [] , \"big\": 12345678901234567890}\n", args: []string{"-m", "fast"},
			want: `{"model":"fast","input":{"messages":[],"big":12345678901234567890}}`},
		{name: "a body that names its model", file: `{"model":"smart","messages":[]}`,
			want: `{"model":"smart","input":{"model":"smart","messages":[]}}`},
		{name: "one input", file: `{"custom_id":"a","body":{"messages":[]}}`, args: []string{"-m", "fast"},
			want: `{"model":"fast","inputs":[{"custom_id":"a","body":{"messages":[]}}]}`},
		{name: "inputs", file: "{\"body\":{\"n\":1}}\n\n{\"custom_id\":\"b\",\"body\":{\"n\":2}}", args: []string{"-m", "fast"},
			want: `{"model":"fast","inputs":[{"body":{"n":1}},{"custom_id":"b","body":{"n":2}}]}`},
		{name: "a batch file of OpenAI's",
			file: `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"mini","n":1}}` + "\n" +
				`{"custom_id":"b","method":"POST","url":"/v1/chat/completions","body":{"model":"mini","n":2}}`,
			want: `{"model":"mini","inputs":[{"custom_id":"a","body":{"model":"mini","n":1}},{"custom_id":"b","body":{"model":"mini","n":2}}],` +
				`"endpoint":"/v1/chat/completions"}`},
		{name: "rows of a prompt", file: "{\"custom_id\":\"a\",\"variables\":{\"q\":\"1\"}}\n{\"variables\":{\"q\":\"2\"},\"body\":{\"n\":1}}", args: []string{"--prompt", "support/answer@canary", "--var", "brand=Acme"},
			want: `{"inputs":[{"custom_id":"a","variables":{"q":"1"}},{"body":{"n":1},"variables":{"q":"2"}}],"prompt":{"name":"support/answer","label":"canary","variables":{"brand":"Acme"}}}`},
		{name: "one row of a prompt", file: `{"variables":{"q":"1"}}`, args: []string{"--prompt", "pmpt_1@7"}, want: `{"inputs":[{"variables":{"q":"1"}}],"prompt":{"id":"pmpt_1","version":7}}`},
		{name: "nothing", file: " \n", wrong: " is empty; it needs a body, or lines of inputs"},
		{name: "not JSON", file: "{\"body\":{}}\nHello", wrong: ":2: this is not JSON: invalid character 'H' looking for beginning of value"},
		{name: "a line without a body", file: "{\"body\":{}}\n{\"bdy\":{}}",
			wrong: `:2: an input must look like {"custom_id":"row-1","body":{…}}: json: unknown field "bdy"`},
		{name: "a line with an id alone", file: "{\"body\":{}}\n{\"custom_id\":\"x\"}",
			wrong: `:2: the input has no body; it must look like {"custom_id":"row-1","body":{…}}`},
		{name: "two dialects", file: "{\"url\":\"/v1/a\",\"body\":{}}\n{\"url\":\"/v1/b\",\"body\":{}}",
			wrong: ":2: this input is for /v1/b, but earlier inputs are for /v1/a; submit one job for each endpoint"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{answers: map[string]string{"POST /v1/jobs": queuedJob}}
			d := at(t, f)
			path := write(t, "file", tc.file)
			got := d.run(append([]string{"jobs", "submit", "--file", path}, tc.args...)...)
			if tc.wrong != "" {
				check(t, got, typed{code: exitError, stderr: "penstock: " + path + tc.wrong + "\n"})
				return
			}
			check(t, got, typed{stdout: "job_1\n"})
			if f.body != tc.want {
				t.Errorf("it submits\n%s\nwant\n%s", f.body, tc.want)
			}
			d.stdin = tc.file
			f.body = ""
			d.ok(append([]string{"jobs", "submit", "--file", "-"}, tc.args...)...)
			if f.body != tc.want {
				t.Errorf("from standard input it submits\n%s", f.body)
			}
		})
	}
}

func TestJobsSubmitAndWait(t *testing.T) {
	t.Parallel()
	failedJob := job("none_succeeded", `"total":1,"failed":1`, failedJSON)
	for _, tc := range []struct {
		name, finished string
		args           []string
		want           typed
	}{
		{name: "an answer", finished: oneJob, want: typed{stdout: "Blue\n\x1b[31mlight <scatters>.\n"}},
		{name: "as JSON", finished: oneJob, args: []string{"-o", "json"}, want: typed{stdout: oneJob + "\n"}},
		{name: "a failure", finished: failedJob, want: typed{code: exitItemsFailed,
			stderr: `penstock: job_1 did not succeed: poison: It took down 3 workers.; "penstock items get item_2" shows what was tried` + "\n"}},
		{name: "some of many", finished: mixedJob, args: []string{"-o", "json"}, want: typed{code: exitItemsFailed, stdout: mixedJob + "\n",
			stderr: `penstock: 2 of 3 items did not succeed; "penstock jobs results job_1" shows which` + "\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := at(t, &fake{answers: map[string]string{"POST /v1/jobs": queuedJob, "GET /v1/jobs/job_1": tc.finished}})
			check(t, d.run(append([]string{"jobs", "submit", "-m", "fast", "--wait", "Why?"}, tc.args...)...), tc.want)
		})
	}
	d := at(t, &fake{answers: map[string]string{"POST /v1/jobs": queuedJob, "GET /v1/jobs/job_1": oneJob}})
	d.terminal = true
	check(t, d.run("jobs", "submit", "-m", "fast", "-w", "Why?"), typed{stdout: "Blue\n[31mlight <scatters>.\n"})
}

func TestJobsResults(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string]string{
		"GET /v1/jobs/job_1/results?order=completion":                  resultJSON + "\n" + failedJSON + "\n",
		"GET /v1/jobs/job_1/results?after=0&order=input&status=failed": "",
	}}
	d := at(t, f)
	check(t, d.run("jobs", "results", "job_1"), typed{stdout: "" +
		"SEQ  INDEX  CUSTOM ID  ITEM    STATUS     TARGET  ATTEMPTS  TOKENS                   COST          ANSWER OR ERROR\n" +
		"3    0      row-1      item_1  succeeded  mini    2         12 in (4 cached), 9 out  $0.000041200  Blue  [31mlight <scatters>.\n" +
		"4    1      -          item_2  failed     -       1         0 in, 0 out              $0.000000000  poison: It took down 3 workers.\n"})
	check(t, d.run("jobs", "results", "job_1", "-o", "json"), typed{stdout: resultJSON + "\n" + failedJSON + "\n"})
	check(t, d.run("jobs", "results", "job_1", "--order", "input", "--status", "failed", "--after", "0"),
		typed{stderr: "No item is finished yet.\n"})
}

func TestJobsResultsFollow(t *testing.T) {
	t.Parallel()
	polls := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/jobs/job_1", func(w http.ResponseWriter, _ *http.Request) {
		polls++
		_, _ = io.WriteString(w, map[int]string{1: queuedJob, 2: mixedJob}[polls])
	})
	mux.HandleFunc("GET /v1/jobs/job_1/results", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, map[string]string{"": resultJSON + "\n", "3": failedJSON + "\n"}[r.URL.Query().Get("after")])
	})
	both := typed{stdout: resultJSON + "\n" + failedJSON + "\n"}
	check(t, at(t, mux).run("jobs", "results", "job_1", "-f", "-o", "json"), both)

	polls = 0
	ordered := http.NewServeMux()
	ordered.Handle("GET /v1/jobs/job_1", mux)
	ordered.HandleFunc("GET /v1/jobs/job_1/results", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, map[string]string{"order=input": resultJSON + "\n", "after=0&order=input": failedJSON + "\n"}[r.URL.RawQuery])
	})
	check(t, at(t, ordered).run("jobs", "results", "job_1", "-f", "--order", "input", "-o", "json"), both)
}

func event(seq int, kind, data string) string {
	return fmt.Sprintf(`{"id":"evt_%d","seq":%d,"type":%q,"created_at":"2026-11-15T02:59:0%dZ","job_id":"job_1","data":%s}`, seq, seq, kind, seq, data)
}

var watched = []string{
	event(1, "job.queued", "null"), event(2, "job.started", "null"), event(3, "item.succeeded", resultJSON),
	event(4, "item.failed", failedJSON), event(5, "item.expired", `{"item_id":"item_3","status":"expired"}`), event(6, "job.finished", "null"),
}

func watchable(final string) *fake {
	return &fake{answers: map[string]string{
		"GET /v1/jobs/job_1": final, "GET /v1/jobs/job_1/events": "data: " + strings.Join(watched, "\n\ndata: ") + "\n\n",
	}}
}

func TestJobsWatch(t *testing.T) {
	t.Parallel()
	const complaint = `penstock: 2 of 3 items did not succeed; "penstock jobs results job_1" shows which` + "\n"
	const summary = "job_1 succeeded: 3: 1 succeeded, 1 failed, 1 expired; 12 in, 9 out, $0.000041200\n"
	d := at(t, watchable(mixedJob))
	check(t, d.run("jobs", "watch", "job_1"), typed{code: exitItemsFailed, stderr: complaint, stdout: "" +
		"2026-11-15T02:59:01Z job.queued\n" +
		"2026-11-15T02:59:02Z job.started\n" +
		"2026-11-15T02:59:03Z item.succeeded item_1 row-1 mini\n" +
		"2026-11-15T02:59:04Z item.failed item_2 poison: It took down 3 workers.\n" +
		"2026-11-15T02:59:05Z item.expired item_3\n" +
		"2026-11-15T02:59:06Z job.finished\n" + summary})
	check(t, d.run("jobs", "watch", "job_1", "-o", "json"),
		typed{code: exitItemsFailed, stderr: complaint, stdout: strings.Join(watched, "\n") + "\n"})

	d.terminal = true // it ended before the first look: there is nothing to draw
	check(t, d.run("jobs", "watch", "job_1"), typed{code: exitItemsFailed, stderr: complaint, stdout: "\r\x1b[K" + summary})

	check(t, at(t, &fake{}).run("jobs", "watch", "job_1"), typed{code: exitError, stderr: "penstock: not_found: There is no GET /v1/jobs/job_1.\n"})
}

func TestJobsWatchInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/jobs/job_1", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, queuedJob) })
	mux.HandleFunc("GET /v1/jobs/job_1/events", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, ": alive\n\n")
		_ = http.NewResponseController(w).Flush()
		interrupt()
		<-r.Context().Done()
	})
	check(t, at(t, mux).runWith(ctx, "jobs", "watch", "job_1"),
		typed{code: exitError, stderr: "penstock: stopped watching; job_1 continues\n"})
}

const historyJSON = `[{"id":"att_1","number":1,"target":"mini","reason":"first in order","config":"cfg_1","error_kind":"rate_limited",` +
	`"error_message":"slow\tdown","status_code":429,"usage":{"cost_usd":"0.000000000"},"usage_known":false,` +
	`"started_at":"2026-11-15T02:59:00Z","first_token_at":null,"finished_at":"2026-11-15T02:59:00.25Z"},` +
	`{"id":"att_2","number":2,"target":"large","reason":"mini is at limit","config":"cfg_1","error_kind":null,"error_message":null,` +
	`"status_code":200,"usage":{"input_tokens":12,"output_tokens":9,"cost_usd":"0.000041200"},"usage_known":true,` +
	`"started_at":"2026-11-15T02:59:01Z","first_token_at":"2026-11-15T02:59:01.1Z","finished_at":"2026-11-15T02:59:02Z"}]`

const historyTable = `
#  TARGET  WHY CHOSEN        ERROR         HTTP  STARTED               FIRST TOKEN  TOTAL  TOKENS        COST          MESSAGE
1  mini    first in order    rate_limited  429   2026-11-15T02:59:00Z  -            250ms  unknown       unknown       slow down
2  large   mini is at limit  -             200   2026-11-15T02:59:01Z  100ms        1s     12 in, 9 out  $0.000041200  -
`

func TestItemsList(t *testing.T) {
	t.Parallel()
	const waits = `{"id":"item_2","item_id":"item_2","index":1,"custom_id":"row-2","status":"queued","attempts":0,"object":"item","job_id":"job_1"}`
	text := `{"object":"list","data":[` + resultJSON + `,` + waits + `],"has_more":false}`
	d := at(t, &fake{answers: map[string]string{
		"GET /v1/jobs/job_1/items?limit=21": text, "GET /v1/jobs/job_1/items?limit=6&status=failed": `{"data":[],"has_more":false}`,
	}})
	check(t, d.run("items", "list", "job_1"), typed{stdout: "" +
		"INDEX  CUSTOM ID  ITEM    STATUS     TARGET  ATTEMPTS  TOKENS                   COST          FINISHED              ERROR\n" +
		"0      row-1      item_1  succeeded  mini    2         12 in (4 cached), 9 out  $0.000041200  2026-11-15T02:59:02Z  -\n" +
		"1      row-2      item_2  queued     -       0         0 in, 0 out              $0.000000000  -                     -\n"})
	check(t, d.run("items", "list", "job_1", "-o", "json"), typed{stdout: text + "\n"})
	check(t, d.run("items", "list", "job_1", "--status", "failed", "--limit", "5"), typed{stderr: "There are no such items.\n"})
	if got := d.run("items", "list", "job_1", "--limit", "0"); got.code != exitUsage {
		t.Errorf("%+v", got)
	}
}

func TestItemsGet(t *testing.T) {
	t.Parallel()
	text := strings.TrimSuffix(resultJSON, "}") + `,"object":"item","job_id":"job_1","history":` + historyJSON + `}`
	d := at(t, &fake{answers: map[string]string{"GET /v1/items/item_1": text}})
	check(t, d.run("items", "get", "item_1"), typed{stdout: `Item       item_1
Job        job_1
Index      0
Custom id  row-1
Status     succeeded
Target     mini
Attempts   2
Tokens     12 in (4 cached), 9 out
Cost       $0.000041200
Finished   2026-11-15T02:59:02Z
Answer     Blue  [31mlight <scatters>.
` + historyTable})
	check(t, d.run("items", "get", "item_1", "-o", "json"), typed{stdout: text + "\n"})
}

func TestRequestsGet(t *testing.T) {
	t.Parallel()
	text := `{"id":"req_1","object":"request","endpoint":"/v1/chat/completions","model":"fast","stream":true,"status":"failed",` +
		`"status_code":502,"error":{"code":"upstream_error","message":"It broke."},"target":"large",` +
		`"usage":{"input_tokens":12,"output_tokens":9,"cost_usd":"0.000041200"},"started_at":"2026-11-15T02:59:00Z",` +
		`"first_token_at":"2026-11-15T02:59:01.1Z","finished_at":"2026-11-15T02:59:02Z","history":` + historyJSON + `}`
	d := at(t, &fake{answers: map[string]string{"GET /v1/requests/req_1": text}})
	check(t, d.run("requests", "get", "req_1"), typed{stdout: `Request      req_1
Endpoint     /v1/chat/completions
Model        fast
Streamed     true
Status       failed
HTTP         502
Target       large
Tokens       12 in, 9 out
Cost         $0.000041200
Started      2026-11-15T02:59:00Z
First token  1.1s
Took         2s
Error        upstream_error: It broke.
` + historyTable})
	check(t, d.run("requests", "get", "req_1", "-o", "json"), typed{stdout: text + "\n"})
}

func TestModelsList(t *testing.T) {
	t.Parallel()
	const list = `{"object":"list","data":[{"id":"fast","object":"model","created":0,"owned_by":"penstock"}],"has_more":false}`
	d := at(t, &fake{answers: map[string]string{"GET /v1/models": list}})
	check(t, d.run("models", "list"), typed{stdout: "MODEL  OWNED BY\nfast   penstock\n"})
	check(t, d.run("models", "list", "-o", "json"), typed{stdout: list + "\n"})
}

func TestProgressBar(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC)
	j := &client.Job{
		ID: "job_1", Status: penstock.StatusRunning, Counts: penstock.Counts{Total: 1000, Queued: 690, Running: 10, Succeeded: 298, Failed: 2},
		ItemsPerSecond: 71.25, EstimatedFinishAt: now.Add(9800 * time.Millisecond), Usage: client.Usage{Cost: 41_200},
	}
	if got, want := progressBar(j, now), "running [######--------------] 300/1000, 2 failed, 71.25/s, 10s left, $0.000041200"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	j = &client.Job{ID: "job_1", Status: penstock.StatusQueued, Counts: penstock.Counts{Total: 3, Queued: 3}, WaitingOn: "paused"}
	if got, want := progressBar(j, now), "queued [--------------------] 0/3, waiting on paused"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestJobsSubmitUploads holds that a large file of lines is uploaded, watched to its end, and that failures show.
func TestJobsSubmitUploads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	line := `{"custom_id":"a","body":{"model":"fast","messages":[{"role":"user","content":"` + strings.Repeat("x", 1<<20) + `"}]}}` + "\n"
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	f := watchable(mixedJob)
	f.answers["POST /v1/files"], f.answers["POST /v1/jobs"] = `{"id":"file_1","lines":1}`, mixedJob
	got := at(t, f).run("jobs", "submit", path, "--watch")
	if got.code != exitItemsFailed || !strings.Contains(got.stdout, "job_1 succeeded: 3: 1 succeeded, 1 failed") {
		t.Errorf("%+v", got)
	}
	f.answers["POST /v1/files"] = `{"id":"file_1","lines":1,"error_count":1,"errors":{"data":[{"line":7,"code":"empty_line","message":"The line is empty."}]}}`
	got = at(t, f).run("jobs", "submit", path)
	if got.code != exitError || !strings.Contains(got.stderr, "rows.jsonl:7: The line is empty.") {
		t.Errorf("%+v", got)
	}
}
