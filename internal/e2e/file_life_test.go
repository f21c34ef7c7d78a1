package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"penstock/internal/store/postgres/pgtest"
)

// serveOn is serveOne on an engine.
func serveOn(t *testing.T, on engine, routing string) *Server {
	t.Helper()
	env := []string{"E2E_KEY=" + Key}
	if on == onPostgres {
		routing += "database: \"${" + databaseEnv + "}\"\n"
		env = append(env, databaseEnv+"="+strings.Replace(pgtest.URL(t), "@/", "@localhost/", 1))
	}
	return serveWith(t, env, routing)
}

// onEngines runs a test on each engine.
func onEngines(t *testing.T, routing string, test func(t *testing.T, s *Server)) {
	t.Helper()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			test(t, serveOn(t, on, routing))
		})
	}
}

// TestRetriedFilesAreExplained holds that a retry of a job whose file was deleted runs with the content, and that its item lists the file.
func TestRetriedFilesAreExplained(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			retriedFilesAreExplained(t, on)
		})
	}
}

func retriedFilesAreExplained(t *testing.T, on engine) {
	var broken atomic.Bool
	broken.Store(true)
	var last atomic.Value
	upstream := serveUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			_, _ = io.Copy(io.Discard, r.Body)
			http.Error(w, `{"error":{"message":"no","type":"invalid_request_error"}}`, http.StatusBadRequest)
			return
		}
		text, _ := io.ReadAll(r.Body)
		last.Store(string(text))
		answerShort(w, r)
	})
	s := serveOn(t, on, fmt.Sprintf(mirrorModels, upstream))
	id := s.fileID(t, "user_data", "notes.txt", aText)
	job := func(c Call) (done struct{ ID, Status string }) {
		t.Helper()
		a := s.Do(c)
		Await(t, "the job", func() error {
			if err := json.Unmarshal([]byte(a.Body), &done); err != nil || done.ID == "" {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if done.Status == "queued" || done.Status == "running" {
				a = s.Do(get("/v1/jobs/" + done.ID))
				return fmt.Errorf("%s", a.Body)
			}
			return nil
		})
		return done
	}
	plain := ask("Hi")
	first := job(post("/v1/jobs", fmt.Sprintf(`{"model":"up","max_attempts":1,"inputs":[{"body":%s},{"body":%s}]}`, plain, fmt.Sprintf(fileBodies[0].body, "up", id))))
	if first.Status != "failed" {
		t.Fatalf("the job is %+v", first)
	}
	if a := s.Do(del("/v1/files/" + id)); a.Status != http.StatusOK {
		t.Fatalf("deleting the file: %d %s", a.Status, a.Body)
	}
	broken.Store(false)
	again := job(post("/v1/jobs/"+first.ID+"/retry", ""))
	if text, _ := last.Load().(string); again.Status != "succeeded" || text == "" {
		t.Fatalf("the retry is %+v", again)
	}
	var items struct{ Data []struct{ ID string } }
	listed := 0
	a := s.Do(get("/v1/jobs/" + again.ID + "/items"))
	if err := json.Unmarshal([]byte(a.Body), &items); err != nil || len(items.Data) != 2 {
		t.Fatalf("the items: %d %s", a.Status, a.Body)
	}
	for _, item := range items.Data {
		got := s.Do(get("/v1/items/" + item.ID)).Body
		if strings.Contains(got, `"file_id":"`+id+`"`) && strings.Contains(got, fileBodies[0].param) {
			listed++
		}
	}
	if listed != 1 {
		t.Errorf("%d items of the retry list the file: %s", listed, a.Body)
	}
}

// TestContinuedResponseWithoutItsFile holds that a response whose file was deleted can be read, and that continuing from it gets an error that
// names the file and the next step.
func TestContinuedResponseWithoutItsFile(t *testing.T) {
	t.Parallel()
	u := startMirror(t)
	s := serveOne(t, fmt.Sprintf(mirrorModels, u.URL))
	id := s.fileID(t, "user_data", "notes.txt", aText)
	first := answeredID(t, s.Do(post("/v1/responses", fmt.Sprintf(fileBodies[1].body, "up", id))))
	goOn := fmt.Sprintf(`{"model":"up","previous_response_id":%q,"input":"Go on"}`, first)
	if a := s.Do(post("/v1/responses", goOn)); a.Status != http.StatusOK || !strings.Contains(u.last(), "The code word is") {
		t.Errorf("with the file: %d %s; the upstream got %s", a.Status, a.Body, u.last())
	}
	if a := s.Do(del("/v1/files/" + id)); a.Status != http.StatusOK {
		t.Fatalf("deleting the file: %d %s", a.Status, a.Body)
	}
	for _, body := range []string{goOn, strings.Replace(goOn, "{", `{"stream":true,`, 1), strings.Replace(goOn, "{", `{"background":true,`, 1)} {
		a := s.Do(post("/v1/responses", body))
		for _, want := range []string{"There is no " + id, "upload it again", "begin a new conversation", `"code":"not_found"`, `"param":"previous_response_id"`, "input[0].content[1].file_id"} {
			if a.Status != http.StatusNotFound || !strings.Contains(a.Body, want) {
				t.Errorf("%s without the file: %d %s; want %s", body, a.Status, a.Body, want)
			}
		}
	}
	if a := s.Do(get("/v1/responses/" + first)); a.Status != http.StatusOK {
		t.Errorf("reading the response: %d %s", a.Status, a.Body)
	}
}

// TestFilesInExplanations holds that an explanation resolves files as the call would: an image needs a target with vision, a long file counts
// towards the context, and an id that the call could not use is an error.
func TestFilesInExplanations(t *testing.T) {
	t.Parallel()
	s := serveOne(t, `
providers: {up: {kind: openai, base_url: http://127.0.0.1:9/v1}}
targets:
  blind: {provider: up, upstream_model: x, capabilities: [tools, streaming], price: {input: "1", output: "1"}}
  short: {provider: up, upstream_model: x, context_tokens: 2000, price: {input: "1", output: "1"}}
  full: {provider: up, upstream_model: x, price: {input: "1", output: "1"}}
models: {sees: {targets: [blind, full]}, reads: {targets: [short, full]}}
`)
	png, text := s.fileID(t, "vision", "a.png", aPNG), s.fileID(t, "user_data", "a.txt", strings.Repeat("many words ", 10_000))
	for _, endpoint := range []string{"", "?endpoint=" + chatPath} {
		for model, want := range map[string]struct{ id, excluded string }{"sees": {png, "lacks vision"}, "reads": {text, "takes 2000 tokens"}} {
			a := s.Do(post("/v1/models/"+model+"/explain"+endpoint, fmt.Sprintf(fileBodies[0].body, model, want.id)))
			if a.Status != http.StatusOK || !strings.Contains(a.Body, `"chosen":"full"`) || !strings.Contains(a.Body, want.excluded) {
				t.Errorf("%s%s: %d %s", model, endpoint, a.Status, a.Body)
			}
		}
	}
	if a := s.Do(post("/v1/models/reads/explain", fmt.Sprintf(fileBodies[0].body, "reads", "file_01JQ0000000000000000000000"))); a.Status != http.StatusNotFound || !strings.Contains(a.Body, fileBodies[0].param) {
		t.Errorf("a file that is not there: %d %s", a.Status, a.Body)
	}
}

// TestFilesAtOnce sends 50 calls at a time that each name a file of 5 MiB, of each type. The bytes in flight bound their memory: calls beyond it get an error
// that can be retried, small calls of another tenant pass, and every call succeeds in the end.
func TestFilesAtOnce(t *testing.T) {
	t.Parallel()
	const calls, size, mib = 50, 5 << 20, 1 << 20
	release := make(chan struct{})
	g := startGuarded(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 0 || r.ContentLength > mib {
			<-release
		}
		answerShort(w, r)
	}, `
limits: {max_body_bytes: 16777216, max_job_bytes: 16777216, max_tenant_body_bytes: 67108864, max_process_body_bytes: 134217728}
tenants:
`+guardedTenant("open", "")+guardedTenant("good", ""))
	bodies := []string{}
	for name, content := range map[string]string{"a.pdf": aPDF + strings.Repeat("\xff", size), "a.txt": strings.Repeat("A \"word\".\n", size/10)} {
		id := g.fileOf("open", name, content)
		bodies = append(bodies, fmt.Sprintf(fileBodies[0].body, "chats", id))
	}
	before := g.peak()
	var all sync.WaitGroup
	var refused, passed atomic.Int64
	for n := range calls {
		all.Go(func() {
			a, err := g.Try(t.Context(), as(guardedKey("open"), post(chatPath, bodies[n%len(bodies)])))
			switch {
			case err == nil && a.Status == http.StatusOK:
				passed.Add(1)
			case err == nil && a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "" && strings.Contains(a.Body, "bytes of request bodies in flight, and its limit is 67108864"):
				refused.Add(1)
			default:
				t.Errorf("a call: %d %.300s, %v", a.Status, a.Body, err)
			}
		})
	}
	Await(t, "the calls beyond the bound to be refused", func() error {
		if n := refused.Load(); n < calls-67108864/size {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	if a := g.Do(as(guardedKey("good"), post(chatPath, ask("Hi", `"model":"chats"`)))); a.Status != http.StatusOK {
		t.Errorf("a small call of another tenant: %d %s", a.Status, a.Body)
	}
	close(release)
	all.Wait()
	if passed.Load() == 0 {
		t.Error("no call passed")
	}
	grown := g.peak() - before
	t.Logf("%d calls passed, %d were refused, and took %d MiB", passed.Load(), refused.Load(), grown/mib)
	// Beside the bodies that are counted there are their copies on the way upstream, and what the collector has not freed.
	if bound := int64(200 * mib); grown > bound {
		t.Errorf("the calls took %d MiB, want at most %d", grown/mib, bound/mib)
	}
	for _, body := range bodies {
		if a := g.Do(as(guardedKey("open"), post(chatPath, body))); a.Status != http.StatusOK {
			t.Errorf("a retry: %d %.300s", a.Status, a.Body)
		}
	}
	if a := g.admin.Do(get("/metrics")); !strings.Contains(a.Body, "penstock_body_bytes{kind=\"request\"} 0\n") {
		t.Error("bytes are still counted after all calls have ended")
	}
	g.verifyLedger()
}

// fileOf uploads a file of a tenant.
func (g *guarded) fileOf(tenant, name, content string) string {
	g.t.Helper()
	form, contentType := formOf("user_data", name, content)
	return answeredID(g.t.(*testing.T), g.Do(as(guardedKey(tenant), post("/v1/files", form, "Content-Type", contentType))))
}

// TestAttackFilesOfOtherTenants lets a tenant use the files, the uploads and the parts of another on every way that names them, on both engines. Each
// answer is that for an id that does not exist, no upstream gets the content, and the owner's upload goes on.
func TestAttackFilesOfOtherTenants(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			settings, env := "tenants:\n"+guardedTenant("one", "")+guardedTenant("two", ""), []string{}
			if on == onPostgres {
				settings = "database: \"${" + databaseEnv + "}\"\n" + settings
				env = append(env, databaseEnv+"="+strings.Replace(pgtest.URL(t), "@/", "@localhost/", 1))
			}
			u := startMirror(t)
			attackFiles(t, joinGuarded(t, u.URL, t.TempDir(), settings, env...), u)
		})
	}
}

func attackFiles(t *testing.T, g *guarded, u *mirrorUpstream) {
	owner := func(c Call) Answer { return g.Do(as(guardedKey("one"), c)) }
	thief := func(c Call) Answer { return g.Do(as(guardedKey("two"), c)) }
	create := post("/v1/uploads", fmt.Sprintf(`{"bytes":%d,"filename":"a.pdf","purpose":"user_data"}`, len(aPDF)))
	form, contentType := formOf("", "a", aPDF)
	form = strings.Replace(form, `name="file"`, `name="data"`, 1)
	part := func(upload string) Call {
		return post("/v1/uploads/"+upload+"/parts", form, "Content-Type", contentType)
	}
	complete := func(upload, part string) Call {
		return post("/v1/uploads/"+upload+"/complete", `{"part_ids":["`+part+`"]}`)
	}
	file, pending, own := g.fileOf("one", "notes.txt", aText), answeredID(t, owner(create)), answeredID(t, thief(create))
	stolen := answeredID(t, owner(part(pending)))
	const nobody = "01JQ0000000000000000000000"
	attacks := map[string]func(file, upload, part string) Call{
		"add a part":       func(_, upload, _ string) Call { return part(upload) },
		"complete":         func(_, upload, part string) Call { return complete(upload, part) },
		"take a part":      func(_, _, part string) Call { return complete(own, part) },
		"cancel":           func(_, upload, _ string) Call { return post("/v1/uploads/"+upload+"/cancel", "") },
		"read the file":    func(file, _, _ string) Call { return get("/v1/files/" + file) },
		"read its content": func(file, _, _ string) Call { return get("/v1/files/" + file + "/content") },
		"delete the file":  func(file, _, _ string) Call { return del("/v1/files/" + file) },
		"explain with a file": func(file, _, _ string) Call {
			return post("/v1/models/chats/explain", fmt.Sprintf(fileBodies[0].body, "chats", file))
		},
		"a job": func(file, _, _ string) Call {
			return post("/v1/jobs", fmt.Sprintf(`{"model":"chats","input":%s}`, fmt.Sprintf(fileBodies[0].body, "chats", file)))
		},
	}
	for _, b := range fileBodies {
		attacks["call "+b.path] = func(file, _, _ string) Call { return post(b.path, fmt.Sprintf(b.body, "chats", file)) }
	}
	for name, attack := range attacks {
		real, none := thief(attack(file, pending, stolen)), thief(attack("file_"+nobody, "upload_"+nobody, "part_"+nobody))
		same := strings.NewReplacer(file, "", pending, "", stolen, "", "file_"+nobody, "", "upload_"+nobody, "", "part_"+nobody, "")
		if real.Status/100 != 4 || real.Status != none.Status || unsaid(Answer{Body: same.Replace(real.Body)}) != unsaid(Answer{Body: same.Replace(none.Body)}) {
			t.Errorf("%s: %d %s; for what does not exist: %d %s", name, real.Status, real.Body, none.Status, none.Body)
		}
	}
	line := fmt.Sprintf(`{"custom_id":"a","body":%s}`, fmt.Sprintf(fileBodies[0].body, "chats", file))
	lines, linesType := formOf("batch", "rows.jsonl", line+"\n")
	if a := thief(post("/v1/jobs", fmt.Sprintf(`{"model":"chats","input_file":%q}`, answeredID(t, thief(post("/v1/files", lines, "Content-Type", linesType)))))); a.Status != http.StatusNotFound {
		t.Errorf("a batch whose line names the file: %d %s", a.Status, a.Body)
	}
	if u.last() != "" {
		t.Errorf("the upstream got %s", u.last())
	}
	if a := owner(complete(pending, stolen)); a.Status != http.StatusOK || !strings.Contains(a.Body, `"status":"completed"`) {
		t.Errorf("the owner completes: %d %s", a.Status, a.Body)
	}
	if a := owner(post(chatPath, fmt.Sprintf(fileBodies[0].body, "chats", file))); a.Status != http.StatusOK || !strings.Contains(u.last(), "The code word") {
		t.Errorf("the owner's call: %d %s", a.Status, a.Body)
	}
}
