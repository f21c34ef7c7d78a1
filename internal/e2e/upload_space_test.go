package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"penstock/internal/disk"
)

// TestUploadsLeaveSpaceForJobs serves from a disk that has more free than must stay so, but less than twice as much: uploads are
// refused and leave nothing behind, and jobs are taken and run.
func TestUploadsLeaveSpaceForJobs(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	space, err := disk.Statfs(data)
	if err != nil {
		t.Fatal(err)
	}
	// Far from either bound: the disk is not this test's alone.
	settings := fmt.Sprintf("disk: {min_free: %dMiB}\ntenants:\n%s", space.Free/4*3>>20, guardedTenant("acme", ""))
	g := joinGuarded(t, serveUpstream(t, answerShort), data, settings)
	form, contentType := uploadForm(strings.NewReader(fileLine(1)))
	text, err := io.ReadAll(form)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a := g.Do(as(guardedKey("acme"), post("/v1/files", string(text), "Content-Type", contentType)))
		if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, `"code":"overloaded"`) || !strings.Contains(a.Body, "short of disk space for uploads") || a.Header.Get("Retry-After") != "30" {
			t.Errorf("an upload: %d %v %s", a.Status, a.Header, a.Body)
		}
		if a := g.Do(as(guardedKey("acme"), post("/v1/jobs", `{"model":"chats","input":"Hi"}`, "Prefer", "wait=30"))); a.Status != http.StatusOK || !strings.Contains(a.Body, `"status":"succeeded"`) {
			t.Errorf("a job: %d %s", a.Status, a.Body)
		}
	}
	if blobs := blobFiles(t, data); len(blobs) != 0 {
		t.Errorf("refused uploads left %v", blobs)
	}
	g.verifyLedger()
}
