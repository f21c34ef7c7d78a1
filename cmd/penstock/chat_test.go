package main

import (
	"cmp"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// talker is a server whose model repeats the last message, and which keeps what it was asked.
type talker struct {
	models string // of the server, as a list of JSON; "" for one
	mu     sync.Mutex
	asked  []string
}

func (k *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		_, _ = io.WriteString(w, `{"object":"list","data":[`+cmp.Or(k.models, `{"id":"only","owned_by":"x"}`)+`]}`)
		return
	}
	var body struct {
		Model    string
		Messages []struct{ Role, Content string }
		Prompt   json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Header.Get("Authorization") != "Bearer "+testKey {
		http.Error(w, "{}", http.StatusUnauthorized)
		return
	}
	var said []string
	for _, m := range body.Messages {
		said = append(said, m.Role+"="+m.Content)
	}
	k.mu.Lock()
	k.asked = append(k.asked, body.Model+" "+strings.Join(said, "|")+" "+r.Header.Get("x-penstock-tags")+" "+r.Header.Get("x-penstock-subject"))
	k.mu.Unlock()
	last := string(body.Prompt)
	if len(body.Messages) > 0 {
		last = body.Messages[len(body.Messages)-1].Content
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("x-request-id", "req_1")
	if last == "fail" {
		_, _ = io.WriteString(w, `data: {"error":{"code":"upstream_error","message":"It broke."}}`+"\n\n")
		return
	}
	if last == "cut" {
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"half"}}]}`+"\n\n")
		return
	}
	for _, part := range []string{"You said ", last, "."} {
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", part)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// Without --model the server's default answers: its model "auto", else the only one. Otherwise the models are named.
func TestChatChoosesTheModel(t *testing.T) {
	t.Parallel()
	for models, want := range map[string]string{
		`{"id":"only"}`: "only", `{"id":"sim"},{"id":"auto"},{"id":"gpt"}`: "auto", `{"id":"fast"},{"id":"smart"}`: "",
	} {
		k := &talker{models: models}
		got := at(t, k).run("chat", "Hi")
		switch {
		case want == "" && (got.code != exitUsage || !strings.Contains(got.stderr, "add --model, such as fast, smart")):
			t.Errorf("%s: %+v", models, got)
		case want != "" && (len(k.asked) != 1 || !strings.HasPrefix(k.asked[0], want+" ")):
			t.Errorf("%s: %+v, %v", models, got, k.asked)
		}
	}
}

func TestChat(t *testing.T) {
	t.Parallel()
	k := &talker{}
	d := at(t, k)
	if got := d.ok("chat", "Hello there", "--tag", "team=a b", "--subject", "ann"); got != "You said Hello there.\n" {
		t.Errorf("one message: %q", got)
	}
	if got := d.ok("chat", "-m", "fast", "Hi", "-o", "json"); got != `{"model":"fast","answer":"You said Hi.","request_id":"req_1"}`+"\n" {
		t.Errorf("for a program: %q", got)
	}
	d.stdin = "from a file\n"
	if got := d.ok("chat", "-"); got != "You said from a file.\n" {
		t.Errorf("from standard input: %q", got)
	}
	d.stdin = "one\n\ntwo\n/model other\n/reset\nthree\n/exit\nnever\n"
	if got := d.ok("chat", "--system", "Be short."); got != "You said one.\nYou said two.\nYou said three.\n" {
		t.Errorf("a conversation: %q", got)
	}
	want := []string{
		"only user=Hello there team=a%20b ann", "fast user=Hi  ", "only user=from a file  ", "only system=Be short.|user=one  ",
		"only system=Be short.|user=one|assistant=You said one.|user=two  ", "other system=Be short.|user=three  ",
	}
	if got := strings.Join(k.asked, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it asked\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// With a prompt of the registry, a message and a model are optional.
func TestChatWithAPrompt(t *testing.T) {
	t.Parallel()
	k := &talker{}
	d := at(t, k)
	if got := d.ok("chat", "--prompt", "support/answer@7", "--var", "brand=Acme"); got != `You said {"name":"support/answer","version":7,"variables":{"brand":"Acme"}}.`+"\n" {
		t.Errorf("the prompt alone: %q", got)
	}
	if got := d.ok("chat", "--prompt", "support/answer", "-m", "fast", "Hi"); got != "You said Hi.\n" || k.asked[1] != "fast user=Hi  " || k.asked[0] != "   " {
		t.Errorf("with a message: %q, %q", got, k.asked)
	}
}

func TestChatThatFails(t *testing.T) {
	t.Parallel()
	d := at(t, &talker{})
	if got := d.run("chat", "fail"); got.code != exitError || !strings.Contains(got.stderr, "It broke.") {
		t.Errorf("%+v", got)
	}
	if got := d.run("chat", "cut"); got.code != exitError || !strings.HasPrefix(got.stdout, "half") || !strings.Contains(got.stderr, "unexpected EOF") {
		t.Errorf("an answer that breaks off: %+v", got)
	}
	d.stdin = "fail\nstill here\n"
	if got := d.run("chat"); got.code != exitOK || got.stdout != "You said still here.\n" || !strings.Contains(got.stderr, "It broke.") {
		t.Errorf("a conversation goes on after an error: %+v", got)
	}
}

// A prompt that is the name of a file is not sent.
func TestPromptThatIsAFile(t *testing.T) {
	t.Parallel()
	d := at(t, http.NotFoundHandler())
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("Hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	fixes := map[string]string{
		"chat":        `"penstock chat - < ` + path + `"; see "penstock chat --help"`,
		"jobs submit": `"penstock jobs submit - < ` + path + `", and --file for a body or many inputs; see "penstock jobs submit --help"`,
	}
	for name, fix := range fixes {
		command := append(strings.Fields(name), "--model", "fast")
		for _, prompt := range []string{path, "@" + path} {
			want := fmt.Sprintf("penstock: %q is a file, and its name would be the prompt; to send its content use %s\n", path, fix)
			if got := d.run(append(command, prompt)...); got.code != exitUsage || got.stderr != want {
				t.Errorf("%v %s: %+v, want %s", command, prompt, got, want)
			}
		}
		if got := d.run(append(command, path+".missing.jsonl")...); got.code != exitUsage || !strings.Contains(got.stderr, "there is no file") {
			t.Errorf("%v: %+v", command, got)
		}
	}
}

// --url, --key and --ca lead every command to another server, also over TLS with an authority of its own.
func TestServerFlags(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]string{}
	fake := httptest.NewUnstartedServer(proving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.URL.Path] = r.Header.Get("Authorization")
		mu.Unlock()
		_, _ = io.WriteString(w, `{"object":"list","data":[],"has_more":false,"lanes":[{"name":"bulk","ready":12345}],"targets":[{"name":"mini","state":"open"}]}`)
	})))
	fake.Config.ErrorLog = stdlog.New(io.Discard, "", 0) // a call without --ca breaks the handshake
	fake.StartTLS()
	t.Cleanup(fake.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: fake.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newHarness(t)
	flags := []string{"--url", fake.URL, "--key", testAdminKey, "--ca", ca}
	for path, command := range map[string]string{
		"/v1/jobs": "jobs list", "/v1/requests": "requests list", "/v1/files": "files list", "/v1/batches": "batches list",
		"/v1/models": "models list", "/admin/v1/load": "targets list", "/admin/v1/controls": "controls list",
	} {
		got := d.run(append(strings.Fields(command), flags...)...)
		if got.code != exitOK || seen[path] != "Bearer "+testAdminKey {
			t.Errorf("%s: %+v, seen %v", command, got, seen)
		}
	}
	if got := d.run("targets", "list", "--url", fake.URL, "--ca", ca); !strings.Contains(got.stdout, "mini") || !strings.Contains(got.stdout, "open") {
		t.Errorf("targets list: %+v", got)
	}
	d.env["PENSTOCK_CA"] = ca
	if got := d.run("lanes", "list", "--url", fake.URL); !strings.Contains(got.stdout, "bulk") || !strings.Contains(got.stdout, "12.3k") {
		t.Errorf("lanes list: %+v", got)
	}
	delete(d.env, "PENSTOCK_CA")
	if got := d.run("jobs", "list", "--url", fake.URL); got.code != exitError || !strings.Contains(got.stderr, "certificate") {
		t.Errorf("without --ca: %+v", got)
	}
	if got := d.run("jobs", "list", "--ca", filepath.Join(t.TempDir(), "none")); got.code != exitError || !strings.Contains(got.stderr, "--ca") {
		t.Errorf("a file that is not there: %+v", got)
	}
	if got := d.run("jobs", "list", "--url", "example"); got.code != exitUsage || !strings.Contains(got.stderr, "--url") {
		t.Errorf("no URL: %+v", got)
	}
}

func TestCompletionIsInTheHelp(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	if help := d.ok("--help"); !strings.Contains(help, "completion ") || !strings.Contains(help, "chat ") {
		t.Errorf("the help is\n%s", help)
	}
	for shell, want := range map[string]string{"bash": "__penstock", "zsh": "#compdef penstock", "fish": "complete -c penstock"} {
		if got := d.ok("completion", shell); !strings.Contains(got, want) {
			t.Errorf("the completions for %s have %d bytes without %q", shell, len(got), want)
		}
	}
}

// files and batches show what the server has.
func TestFilesAndBatches(t *testing.T) {
	t.Parallel()
	const file = `{"id":"file_01","filename":"in.jsonl","purpose":"batch","status":"processed","lines":3,"bytes":20480,"created_at":1794700000,"expires_at":1795000000,"error_count":0,"errors":null}`
	const batch = `{"id":"batch_01","status":"completed","endpoint":"/v1/chat/completions","model":"fast","input_file_id":"file_01","output_file_id":"file_02","created_at":1794700000,"request_counts":{"total":3,"completed":2,"failed":1}}`
	var deleted, created string
	mux := http.NewServeMux()
	answer := func(pattern, text string, do func(*http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if do != nil {
				do(r)
			}
			_, _ = io.WriteString(w, text)
		})
	}
	answer("GET /v1/files", `{"object":"list","data":[`+file+`],"has_more":false}`, nil)
	answer("POST /v1/files", file, nil)
	answer("GET /v1/files/file_01", file, nil)
	answer("GET /v1/files/file_02/content", "line\n", nil)
	answer("DELETE /v1/files/file_01", `{"deleted":true}`, func(r *http.Request) { deleted = r.URL.Path })
	answer("GET /v1/batches", `{"object":"list","data":[`+batch+`],"has_more":false}`, nil)
	answer("POST /v1/batches", batch, func(r *http.Request) { text, _ := io.ReadAll(r.Body); created = string(text) })
	answer("POST /v1/batches/batch_01/cancel", batch, nil)
	d := at(t, mux)
	if got := d.ok("files", "list"); !strings.Contains(got, "file_01") || !strings.Contains(got, "20 KiB") {
		t.Errorf("files list: %s", got)
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.ok("files", "upload", path)
	d.ok("files", "get", "file_01")
	if got := d.ok("files", "download", "file_02"); got != "line\n" {
		t.Errorf("files download: %q", got)
	}
	d.ok("files", "download", "file_02", "--to", path+".out")
	if got := d.run("files", "download", "file_02", "--to", path); got.code != exitError || !strings.Contains(got.stderr, "exists") {
		t.Errorf("a download over a file: %+v", got)
	}
	d.ok("files", "delete", "file_01")
	if got := d.ok("batches", "list"); !strings.Contains(got, "2/3") {
		t.Errorf("batches list: %s", got)
	}
	if got := d.ok("batches", "create", path); !strings.Contains(got, "2 of 3, 1 failed") || !strings.Contains(created, `"input_file_id":"file_01"`) || deleted != "/v1/files/file_01" {
		t.Errorf("batches create: %s, sent %s", got, created)
	}
	d.ok("batches", "cancel", "batch_01")
	if got := d.run("batches", "create", "nothing"); got.code != exitUsage {
		t.Errorf("a batch over nothing: %+v", got)
	}
}
