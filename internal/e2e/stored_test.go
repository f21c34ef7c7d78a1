package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// stalledUpload begins an upload that brings one line and then nothing, until the test ends.
func (g *guarded) stalledUpload(secret string) *openCall {
	g.t.Helper()
	sent := false
	form, contentType := uploadForm(readerFunc(func(p []byte) (int, error) {
		if !sent {
			sent = true
			return copy(p, fileLine(1)), nil
		}
		<-g.t.Context().Done()
		return 0, io.EOF
	}))
	return openAt(g.t.(*testing.T), "an upload", requestOf(g.t.(*testing.T), g.Server, as(secret, post("/v1/files", "", "Content-Type", contentType)), form), true)
}

// TestStalledUploads holds a tenant's uploads at their bound, and that this stops its own next one alone: uploads, jobs and
// calls of others go on, and so do its own jobs.
func TestStalledUploads(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, answerShort, "tenants:\n"+guardedTenant("one", "")+guardedTenant("good", ""))
	for range 4 {
		g.stalledUpload(guardedKey("one"))
	}
	whole := func(secret string) Answer {
		form, contentType := uploadForm(strings.NewReader(fileLine(1)))
		text, err := io.ReadAll(form)
		if err != nil {
			t.Fatal(err)
		}
		return g.Do(as(secret, post("/v1/files", string(text), "Content-Type", contentType)))
	}
	Await(t, "the uploads to be under way", func() error {
		all := g.admin.Do(get("/debug/pprof/goroutine?debug=2", "Authorization", "Bearer "+AdminKey)).Body
		if n := strings.Count(all, ".createFile("); n != 4 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	if a := whole(guardedKey("one")); a.Status != http.StatusTooManyRequests || !strings.Contains(a.Body, "This tenant has 4 uploads under way") {
		t.Errorf("one more upload: %d %s", a.Status, a.Body)
	}
	large := `{"model":"chats","input":"` + strings.Repeat("x", 9<<20) + `"}` // more than a call may have, which is read like an upload
	for range 5 {
		if a := whole(guardedKey("good")); a.Status != http.StatusOK {
			t.Errorf("an upload of another tenant: %d %s", a.Status, a.Body)
		}
		for _, secret := range []string{guardedKey("good"), guardedKey("one")} {
			if a := g.Do(as(secret, post("/v1/jobs", `{"model":"chats","input":"Hi"}`, "Prefer", "wait=30"))); a.Status != http.StatusOK {
				t.Errorf("a job: %d %s", a.Status, a.Body)
			}
		}
		if a := g.Do(as(guardedKey("good"), post("/v1/jobs", large))); a.Status != http.StatusRequestEntityTooLarge { // it got through to where it is judged
			t.Errorf("a large job of another tenant: %d %.200s", a.Status, a.Body)
		}
		if a := g.Do(as(guardedKey("good"), post(chatPath, ask("Hi", `"model":"chats"`)))); a.Status != http.StatusOK {
			t.Errorf("a call of another tenant: %d %s", a.Status, a.Body)
		}
	}
}

// storage is what GET /v1/storage tells.
type storage struct {
	UsedBytes  int64  `json:"used_bytes"`
	JobBytes   int64  `json:"job_bytes"`
	FileBytes  int64  `json:"file_bytes"`
	LimitBytes *int64 `json:"limit_bytes"`
}

func (g *guarded) storage(tenant string) (v storage) {
	g.t.Helper()
	a := g.Do(as(guardedKey(tenant), get("/v1/storage")))
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil || a.Status != http.StatusOK {
		g.t.Fatalf("%d %s", a.Status, a.Body)
	}
	return v
}

// submitLarge submits a job of some 9 kB, and waits for its end.
func (g *guarded) submitLarge(tenant string) Answer {
	return g.Do(as(guardedKey(tenant), post("/v1/jobs", `{"model":"chats","input":"`+strings.Repeat("x", 9000)+`"}`, "Prefer", "wait=30")))
}

// uploadLine uploads a file of one line with so many bytes in it.
func (g *guarded) uploadLine(tenant string, size int) Answer {
	g.t.Helper()
	form, contentType := uploadForm(strings.NewReader(`{"custom_id":"a","body":{"model":"chats","input":"` + strings.Repeat("x", size) + `"}}`))
	text, err := io.ReadAll(form)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.Do(as(guardedKey(tenant), post("/v1/files", string(text), "Content-Type", contentType)))
}

// wantQuota holds that something was refused for a quota of 20,000 bytes.
func wantQuota(t *testing.T, what string, a Answer) {
	t.Helper()
	if a.Status != http.StatusTooManyRequests || !strings.Contains(a.Body, `"code":"quota_exceeded"`) || !strings.Contains(a.Body, "its quota (stored_bytes) is 20000") ||
		!strings.Contains(a.Body, "Delete") || a.Header.Get("x-should-retry") != "false" {
		t.Errorf("%s: %d %v %s", what, a.Status, a.Header, a.Body)
	}
}

// TestStoredBytesQuota fills a tenant's quota by jobs and files: what was accepted finishes, uploads and submits are
// refused with a hint how to free space, others do not notice, and deleting helps at once.
func TestStoredBytesQuota(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			g := startGuarded(t, answerShort, "tenants:\n"+guardedTenant("one", "limits: {stored_bytes: 20000},")+guardedTenant("good", ""), engine.env(t)...)
			fillQuota(t, g)
			g.verifyLedger()
		})
	}
}

func fillQuota(t *testing.T, g *guarded) {
	t.Helper()
	var job struct{ ID string }
	a := g.submitLarge("one")
	if err := json.Unmarshal([]byte(a.Body), &job); err != nil || a.Status != http.StatusOK {
		t.Fatalf("a job: %d %s", a.Status, a.Body)
	}
	first := g.storage("one") // the question as a body, and the answer
	if first.JobBytes < 9200 || first.JobBytes > 9400 || first.FileBytes != 0 || first.UsedBytes != first.JobBytes || first.LimitBytes == nil || *first.LimitBytes != 20000 {
		t.Errorf("storage tells %+v", first)
	}
	wantQuota(t, "an upload that does not fit", g.uploadLine("one", 15000))
	if a = g.uploadLine("one", 9000); a.Status != http.StatusOK {
		t.Fatalf("an upload: %d %s", a.Status, a.Body)
	}
	file := found(t, `"id":"(file[-_][0-9A-Za-z]+)"`, a.Body)
	wantQuota(t, "a submit", g.submitLarge("one"))
	wantQuota(t, "a kept response", g.Do(as(guardedKey("one"), post("/v1/responses", `{"model":"chats","store":true,"input":"`+strings.Repeat("x", 9000)+`"}`))))
	wantQuota(t, "an upload", g.uploadLine("one", 9000))
	if a := g.submitLarge("good"); a.Status != http.StatusOK {
		t.Errorf("a job of another tenant: %d %s", a.Status, a.Body)
	}
	if a := g.Do(as(guardedKey("one"), post(chatPath, ask("Hi", `"model":"chats"`)))); a.Status != http.StatusOK { // stores nothing
		t.Errorf("a call: %d %s", a.Status, a.Body)
	}
	if a := g.Do(as(guardedKey("one"), Call{Method: "DELETE", Path: "/v1/files/" + file})); a.Status != http.StatusOK {
		t.Fatalf("delete the file: %d %s", a.Status, a.Body)
	}
	if a := g.submitLarge("one"); a.Status != http.StatusOK {
		t.Errorf("a job after the file was deleted: %d %s", a.Status, a.Body)
	}
	if a := g.Do(as(guardedKey("one"), Call{Method: "DELETE", Path: "/v1/jobs/" + job.ID})); a.Status != http.StatusOK {
		t.Fatalf("delete the job: %d %s", a.Status, a.Body)
	}
	if v := g.storage("one"); v.UsedBytes != first.UsedBytes { // the second job is as large
		t.Errorf("storage tells %+v, want %d", v, first.UsedBytes)
	}
}
