package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// promptModels are served by a recorded upstream.
const promptModels = `
providers:
  sim: {kind: openai, base_url: %[1]s/v1}
targets:
  sim: {provider: sim, upstream_model: sim-1, price: {input: "1", output: "1"}}
models:
  sim: {targets: [sim]}
`

// savedAnswer saves two versions of a prompt; production names the first.
func (s *Server) savedAnswer() {
	s.t.Helper()
	for _, words := range []string{"One: you are {{brand}}.", "Two: you are {{brand}}."} {
		a := s.Do(post("/v1/prompts/support/answer/versions", `{"kind":"chat","messages":[{"role":"system","content":"`+words+`"},{"role":"user","content":"{{question}}"}],
			"config":{"model":"sim","temperature":0.2,"max_tokens":20}}`))
		if a.Status != http.StatusCreated {
			s.t.Fatalf("save: %d %s", a.Status, a.Body)
		}
	}
	s.moveProduction(1)
}

func (s *Server) moveProduction(version int) {
	s.t.Helper()
	if a := s.Do(put("/v1/prompts/support/answer/labels/production", fmt.Sprintf(`{"version":%d}`, version))); a.Status != http.StatusOK {
		s.t.Fatalf("move: %d %s", a.Status, a.Body)
	}
}

const promptHeader, promptVariables = "x-penstock-prompt", `{"brand":"Acme","question":"Why?"}`

// TestPromptCalls holds that the three dialects run prompts by body and by header, plain and streamed, as jobs of one call and stored, and
// that the upstream gets the same body for the same prompt.
func TestPromptCalls(t *testing.T) {
	t.Parallel()
	u := recordSim(t)
	s := serveOne(t, fmt.Sprintf(promptModels, u.URL))
	s.savedAnswer()
	for path, more := range map[string]string{
		chatPath: `"messages":[{"role":"user","content":"And?"}]`, messagesPath: `"messages":[{"role":"user","content":"And?"}]`, responsesPath: `"store":false,"input":"And?"`,
	} {
		s.playPrompt(u, path, more)
	}
	s.playStoredPrompt(u)
}

// playPrompt makes the same call in every form.
func (s *Server) playPrompt(u *recordedSim, path, more string) {
	s.t.Helper()
	body := `{"prompt":{"name":"support/answer","label":"production","variables":` + promptVariables + `},` + more + `}`
	calls := map[string]Call{
		"body":   post(path, body),
		"header": post(path, "{"+more+"}", promptHeader, "support/answer", promptHeader+"-variables", promptVariables),
		"number": post(path, "{"+more+"}", promptHeader, "support/answer@1", promptHeader+"-variables", url.PathEscape(promptVariables)),
		"keyed":  post(path, body, "Idempotency-Key", "k"+path),
		"stream": post(path, strings.Replace(body, "{", `{"stream":true,`, 1)),
	}
	var first string
	for _, form := range []string{"body", "header", "number", "keyed", "stream"} {
		a := s.Do(calls[form])
		if a.Status != http.StatusOK || a.Header.Get(promptHeader) != "support/answer@1" {
			s.t.Errorf("%s %s: %d, %s %q: %s", path, form, a.Status, promptHeader, a.Header.Get(promptHeader), a.Body)
		}
		sent := u.last()
		if strings.Contains(sent, `"prompt"`) || !strings.Contains(sent, "One: you are Acme.") || strings.Index(sent, "Why?") > strings.Index(sent, "And?") || !strings.Contains(sent, `"temperature":0.2`) {
			s.t.Errorf("%s %s: the upstream got %s", path, form, sent)
		}
		if form == "body" {
			first = sent
			s.checkPromptRecord(a)
		} else if form != "stream" && sent != first {
			s.t.Errorf("%s %s: the upstream got\n%s\nand before\n%s", path, form, sent, first)
		}
	}
	if a := s.Do(post(path, body, promptHeader, "support/answer")); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "give one of them") {
		s.t.Errorf("%s, both forms: %d %s", path, a.Status, a.Body)
	}
}

// checkPromptRecord reads what is known of a call and renders its prompt again.
func (s *Server) checkPromptRecord(a Answer) {
	s.t.Helper()
	id := a.Header.Get("x-request-id")
	if got := s.Do(get("/v1/requests/" + id)); !strings.Contains(got.Body, `"prompt":{"name":"support/answer","version":1,"sha256":"`) || !strings.Contains(got.Body, `"label":"production"`) || !strings.Contains(got.Body, `"model":"sim"`) {
		s.t.Errorf("the record: %s", got.Body)
	}
	if got := s.Do(get("/v1/requests/" + id + "/prompt")); got.Status != http.StatusOK || !strings.Contains(got.Body, "One: you are Acme.") || !strings.Contains(got.Body, `"variables":`+promptVariables) {
		s.t.Errorf("the prompt of the call: %d %s", got.Status, got.Body)
	}
}

// playStoredPrompt continues responses with prompts: the messages of a prompt are no part of the conversation.
func (s *Server) playStoredPrompt(u *recordedSim) {
	s.t.Helper()
	counted := func(body string) (n int) {
		var count struct {
			Tokens int `json:"input_tokens"`
		}
		if a := s.Do(post(responsesPath+"/input_tokens", body)); json.Unmarshal([]byte(a.Body), &count) != nil || count.Tokens == 0 {
			s.t.Errorf("count: %d %s", a.Status, a.Body)
		}
		return count.Tokens
	}
	if short, long := counted(`{"prompt":{"name":"support/answer","variables":`+promptVariables+`}}`), counted(`{"prompt":{"name":"support/answer","variables":{"brand":"`+strings.Repeat("tea ", 90)+`","question":""}}}`); long < short+80 {
		s.t.Errorf("a prompt counts %d tokens, and a longer one %d", short, long)
	}
	for _, options := range []string{`"store":true`, `"background":true`} {
		a := s.Do(post(responsesPath, `{`+options+`,"prompt":{"name":"support/answer","variables":`+promptVariables+`},"input":"First."}`))
		var r struct{ ID, Status string }
		Await(s.t, "the response to end", func() error {
			if err := json.Unmarshal([]byte(a.Body), &r); err != nil || r.Status == "completed" || r.Status == "incomplete" {
				return err
			}
			a = s.Do(get(responsesPath + "/" + r.ID))
			return fmt.Errorf("%d %s", a.Status, a.Body)
		})
		next := s.Do(post(responsesPath, `{"store":false,"previous_response_id":"`+r.ID+`","prompt":{"name":"support/answer","variables":{"brand":"Bolt","question":"Who?"}},"input":"Second."}`))
		sent := u.last()
		if next.Status != http.StatusOK || strings.Contains(sent, "Acme") || !(strings.Index(sent, "Bolt") < strings.Index(sent, "First.") && strings.Index(sent, "First.") < strings.Index(sent, "Second.")) {
			s.t.Errorf("%s, continued: %d %s, the upstream got %s", options, next.Status, next.Body, sent)
		}
	}
}

// TestImportedPromptCalls holds that the id of a prompt that was imported stays valid, with the numbers of its versions, in calls and lines.
func TestImportedPromptCalls(t *testing.T) {
	t.Parallel()
	u := recordSim(t)
	s := serveOne(t, fmt.Sprintf(promptModels, u.URL))
	a := s.Do(post("/v1/prompts/import?path=hosted.json", `[{"id":"pmpt_68aa","version":"1","name":"hosted","model":"sim","instructions":"One for {{who}}."},
		{"id":"pmpt_68aa","version":"3","name":"hosted","model":"sim","instructions":"Three for {{who}}."}]`))
	if a.Status/100 != 2 {
		t.Fatalf("import: %d %s", a.Status, a.Body)
	}
	for version, want := range map[string]string{`"version":"1",`: "One for Ann.", `"version":"3",`: "Three for Ann.", ``: "Three for Ann."} {
		a := s.Do(post(responsesPath, `{"store":false,"input":"Hi","prompt":{"id":"pmpt_68aa",`+version+`"variables":{"who":"Ann"}}}`))
		if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get(promptHeader), "hosted@") || !strings.Contains(u.last(), want) {
			t.Errorf("%s: %d %s, the upstream got %s", version, a.Status, a.Body, u.last())
		}
	}
	if a := s.Do(post(responsesPath, `{"prompt":{"id":"pmpt_68aa","version":"2","variables":{"who":"Ann"}}}`)); a.Status != http.StatusNotFound {
		t.Errorf("a version that was not imported: %d %s", a.Status, a.Body)
	}
	file := s.uploaded(`{"custom_id":"a","body":{"prompt":{"id":"pmpt_68aa","version":"1","variables":{"who":"Bob"}}}}` + "\n")
	if a := s.Do(post("/v1/jobs", `{"endpoint":"/v1/responses","input_file":"`+file+`"}`, "Prefer", "wait=30")); a.Status != http.StatusOK || !strings.Contains(a.Body, `"succeeded":1`) || !strings.Contains(u.last(), "One for Bob.") {
		t.Errorf("a line: %d %s, the upstream got %s", a.Status, a.Body, u.last())
	}
}

// TestPromptBatchKeepsItsVersion holds that a batch of many rows runs with the version that its label named when it was accepted, though
// the label moves while the batch runs; and that a version which an unfinished job names is not deleted.
func TestPromptBatchKeepsItsVersion(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		rows := 10_000
		if engine.name != "sqlite" {
			rows = 2_000
		}
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			u := recordSim(t)
			s := serveWith(t, append([]string{"E2E_KEY=" + Key}, engine.env(t)...), fmt.Sprintf(promptModels, u.URL))
			s.savedAnswer()
			s.Do(post("/v1/prompts/support/answer/versions", `{"kind":"chat","messages":[{"role":"user","content":"Three"}]}`)) // latest is free of the others
			playPromptBatch(t, s, u, rows)
		})
	}
}

func playPromptBatch(t *testing.T, s *Server, u *recordedSim, rows int) {
	t.Helper()
	var lines strings.Builder
	for i := range rows {
		fmt.Fprintf(&lines, `{"custom_id":"row-%d","variables":{"question":"row %d?"}}`+"\n", i, i)
	}
	fmt.Fprintln(&lines, `{"custom_id":"wrong","variables":{"questoin":"?"}}`)
	file := s.uploaded(lines.String())
	a := s.Do(post("/v1/jobs", `{"prompt":{"name":"support/answer","variables":{"brand":"Acme"}},"input_file":"`+file+`"}`))
	job := decodeJob(t, a)
	if a.Status != http.StatusAccepted || !strings.Contains(a.Body, `"prompts":[{"name":"support/answer","version":1,`) || !strings.Contains(a.Body, `"prompt":"support/answer@1"`) || job.Model != "sim" {
		t.Fatalf("submit: %d %s", a.Status, a.Body)
	}
	s.moveProduction(2)
	if a := s.Do(del("/v1/prompts/support/answer/versions/1")); a.Status != http.StatusConflict || !strings.Contains(a.Body, "unfinished work (1 job)") {
		t.Errorf("delete a version in use: %d %s", a.Status, a.Body)
	}
	if moved := decodeJob(t, s.Do(get("/v1/jobs/"+job.ID))); moved.Counts.Queued == 0 {
		t.Errorf("the label was moved too late: %+v", moved.Counts)
	}
	Await(t, "the batch to end", func() error {
		if job = decodeJob(t, s.Do(get("/v1/jobs/"+job.ID, "Prefer", "wait=30"))); job.Counts.Succeeded+job.Counts.Failed < rows+1 {
			return fmt.Errorf("%+v", job.Counts)
		}
		return nil
	})
	if job.Counts.Succeeded != rows || job.Counts.Failed != 1 {
		t.Errorf("%+v", job.Counts)
	}
	s.checkPromptItems(u, job.ID, rows)
}

// checkPromptItems looks at what the upstream got, at the line with the wrong variables, and at what the job after it gets.
func (s *Server) checkPromptItems(u *recordedSim, job string, rows int) {
	s.t.Helper()
	u.mu.Lock()
	seen := map[string]int{}
	for _, body := range u.bodies {
		for _, version := range []string{"One", "Two"} {
			if strings.Contains(body, version+": you are Acme.") {
				seen[version]++
			}
		}
	}
	u.mu.Unlock()
	if seen["One"] != rows || seen["Two"] != 0 {
		s.t.Errorf("the upstream got the versions %v for %d rows", seen, rows)
	}
	failed := s.Do(get("/v1/jobs/" + job + "/items?status=failed"))
	for _, want := range []string{`"custom_id":"wrong"`, `"code":"invalid_request"`, "missing: question; unknown: questoin"} {
		if !strings.Contains(failed.Body, want) {
			s.t.Errorf("the line with wrong variables does not say %s: %s", want, failed.Body)
		}
	}
	var page struct {
		Data []struct {
			ItemID string `json:"item_id"`
		}
	}
	if err := json.Unmarshal([]byte(failed.Body), &page); err != nil || len(page.Data) != 1 {
		s.t.Fatalf("%v: %s", err, failed.Body)
	}
	if item := s.Do(get("/v1/items/" + page.Data[0].ItemID)); !strings.Contains(item.Body, `"prompt":{"name":"support/answer","version":1,`) {
		s.t.Errorf("the item: %d %s", item.Status, item.Body)
	}
	if a := s.Do(post("/v1/jobs", `{"prompt":{"name":"support/answer","variables":{"brand":"Acme","question":"Now?"}}}`, "Prefer", "wait=30")); a.Status != http.StatusOK || !strings.Contains(u.last(), "Two: you are Acme.") {
		s.t.Errorf("the next job: %d %s, the upstream got %s", a.Status, a.Body, u.last())
	}
	if a := s.Do(del("/v1/prompts/support/answer/versions/1")); a.Status != http.StatusOK {
		s.t.Errorf("delete the version once the batch has ended: %d %s", a.Status, a.Body)
	}
}

// TestPromptBatchApis holds that prompts work in the batches of both vendors' APIs.
func TestPromptBatchApis(t *testing.T) {
	t.Parallel()
	u := recordSim(t)
	s := serveOne(t, fmt.Sprintf(promptModels, u.URL))
	s.savedAnswer()
	file := s.uploaded(`{"custom_id":"a","method":"POST","url":"/v1/responses","body":{"prompt":{"name":"support/answer","version":"2","variables":` + promptVariables + `}}}` + "\n" +
		`{"custom_id":"b","method":"POST","url":"/v1/responses","body":{"model":"sim","input":"plain"}}` + "\n")
	a := s.Do(post("/v1/batches", `{"input_file_id":"`+file+`","endpoint":"/v1/responses","completion_window":"24h"}`))
	var batch struct{ ID string }
	if err := json.Unmarshal([]byte(a.Body), &batch); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	Await(t, "the batch to end", func() error {
		if a = s.Do(get("/v1/batches/" + batch.ID)); !strings.Contains(a.Body, `"status":"completed"`) || !strings.Contains(a.Body, `"completed":2`) {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	if all := u.all(); !strings.Contains(all, "Two: you are Acme.") {
		t.Errorf("the upstream got %s", all)
	}
	a = s.Do(post("/v1/messages/batches", `{"requests":[{"custom_id":"a","params":{"model":"sim","prompt":{"name":"support/answer","variables":{"brand":"Bolt","question":"Why?"}}}}]}`))
	if err := json.Unmarshal([]byte(a.Body), &batch); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	Await(t, "the message batch to end", func() error {
		if a = s.Do(get("/v1/messages/batches/" + batch.ID)); !strings.Contains(a.Body, `"succeeded":1`) {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	if all := u.all(); !strings.Contains(all, "One: you are Bolt.") {
		t.Errorf("the upstream got %s", all)
	}
	unknown := s.uploaded(`{"custom_id":"a","body":{"prompt":{"name":"nowhere"}}}` + "\n")
	if a := s.Do(post("/v1/jobs", `{"model":"sim","input_file":"`+unknown+`"}`)); a.Status != http.StatusNotFound || !strings.Contains(a.Body, "There is no prompt nowhere.") {
		t.Errorf("a file that names no prompt: %d %s", a.Status, a.Body)
	}
}

// all are the bodies that came, one a line.
func (u *recordedSim) all() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strings.Join(u.bodies, "\n")
}
