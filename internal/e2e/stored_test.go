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
		if n := strings.Count(all, "(*call).createFile("); n != 4 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	if a := whole(guardedKey("one")); a.Status != http.StatusTooManyRequests || !strings.Contains(a.Body, "4 uploads of this tenant are under way") {
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

// TestStoredBytesQuota fills a tenant's quota by jobs and files: what was accepted finishes, uploads and submits are
// refused with a word on how to make room, others do not notice, and deleting helps at once.
func TestStoredBytesQuota(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			g := startGuarded(t, answerShort, "tenants:\n"+guardedTenant("one", "limits: {stored_bytes: 20000},")+guardedTenant("good", ""), engine.env(t)...)
			used := func(tenant string) (v struct {
				UsedBytes  int64  `json:"used_bytes"`
				JobBytes   int64  `json:"job_bytes"`
				FileBytes  int64  `json:"file_bytes"`
				LimitBytes *int64 `json:"limit_bytes"`
			}) {
				t.Helper()
				a := g.Do(as(guardedKey(tenant), get("/v1/storage")))
				if err := json.Unmarshal([]byte(a.Body), &v); err != nil || a.Status != http.StatusOK {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				return v
			}
			submit := func(tenant string) Answer {
				return g.Do(as(guardedKey(tenant), post("/v1/jobs", `{"model":"chats","input":"`+strings.Repeat("x", 9000)+`"}`, "Prefer", "wait=30")))
			}
			upload := func(tenant string, size int) Answer {
				t.Helper()
				form, contentType := uploadForm(strings.NewReader(`{"custom_id":"a","body":{"model":"chats","input":"` + strings.Repeat("x", size) + `"}}`))
				text, err := io.ReadAll(form)
				if err != nil {
					t.Fatal(err)
				}
				return g.Do(as(guardedKey(tenant), post("/v1/files", string(text), "Content-Type", contentType)))
			}
			refused := func(what string, a Answer) {
				t.Helper()
				if a.Status != http.StatusTooManyRequests || !strings.Contains(a.Body, `"code":"quota_exceeded"`) || !strings.Contains(a.Body, "of the 20000 that it may (stored_bytes)") ||
					!strings.Contains(a.Body, "Delete") || a.Header.Get("x-should-retry") != "false" {
					t.Errorf("%s: %d %v %s", what, a.Status, a.Header, a.Body)
				}
			}
			var job struct{ ID string }
			a := submit("one")
			if err := json.Unmarshal([]byte(a.Body), &job); err != nil || a.Status != http.StatusOK {
				t.Fatalf("a job: %d %s", a.Status, a.Body)
			}
			one := used("one") // the question as a body, and the answer
			if one.JobBytes < 9200 || one.JobBytes > 9400 || one.FileBytes != 0 || one.UsedBytes != one.JobBytes || one.LimitBytes == nil || *one.LimitBytes != 20000 {
				t.Errorf("storage tells %+v", one)
			}
			refused("an upload that does not fit", upload("one", 15000))
			a = upload("one", 9000)
			if a.Status != http.StatusOK {
				t.Fatalf("an upload: %d %s", a.Status, a.Body)
			}
			file := found(t, `"id":"(file[-_][0-9A-Za-z]+)"`, a.Body)
			refused("a submit", submit("one"))
			refused("a kept response", g.Do(as(guardedKey("one"), post("/v1/responses", `{"model":"chats","store":true,"input":"`+strings.Repeat("x", 9000)+`"}`))))
			refused("an upload", upload("one", 9000))
			if a := submit("good"); a.Status != http.StatusOK {
				t.Errorf("a job of another tenant: %d %s", a.Status, a.Body)
			}
			if a := g.Do(as(guardedKey("one"), post(chatPath, ask("Hi", `"model":"chats"`)))); a.Status != http.StatusOK { // stores nothing
				t.Errorf("a call: %d %s", a.Status, a.Body)
			}
			if a := g.Do(as(guardedKey("one"), Call{Method: "DELETE", Path: "/v1/files/" + file})); a.Status != http.StatusOK {
				t.Fatalf("delete the file: %d %s", a.Status, a.Body)
			}
			if a := submit("one"); a.Status != http.StatusOK {
				t.Errorf("a job after the file was deleted: %d %s", a.Status, a.Body)
			}
			if a := g.Do(as(guardedKey("one"), Call{Method: "DELETE", Path: "/v1/jobs/" + job.ID})); a.Status != http.StatusOK {
				t.Fatalf("delete the job: %d %s", a.Status, a.Body)
			}
			if v := used("one"); v.UsedBytes != one.UsedBytes { // the second job is as large
				t.Errorf("storage tells %+v, want %d", v, one.UsedBytes)
			}
			g.verifyLedger()
		})
	}
}
