package e2e

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock/internal/store"
)

// uploadSteps are the transitions of an upload in parts, beside that of its file: a blob is written before the first, and blobs are
// removed after the last. uploadSweepStep removes the parts of uploads that expired.
var uploadSteps = []string{"add_part", "choose_parts", "end_upload"}

const uploadSweepStep = "purge_uploads"

// partedUpload is a client that sends a file in two parts. It repeats the steps that got no answer, as SDKs do.
type partedUpload struct {
	r       *rig
	content string
	id      string
	parts   []string
	file    string
}

// beginUpload creates an upload.
func (r *rig) beginUpload(n int) *partedUpload {
	r.t.Helper()
	u := &partedUpload{r: r, content: fmt.Sprintf("%s%d %s", aPDF, n, noise(200_000))}
	u.id = answeredID(r.t, r.answer(post("/v1/uploads", fmt.Sprintf(`{"bytes":%d,"filename":"a.pdf","purpose":"user_data"}`, len(u.content)))))
	return u
}

// run sends the rest of the upload, until it is completed or the server is gone.
func (u *partedUpload) run() error {
	half := len(u.content) / 2
	for _, data := range []string{u.content[:half], u.content[half:]}[len(u.parts):] {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		w, _ := form.CreateFormFile("data", "blob") // a buffer takes everything
		_, _ = io.WriteString(w, data)
		_ = form.Close()
		a, err := u.r.endpoint.Try(u.r.t.Context(), post("/v1/uploads/"+u.id+"/parts", body.String(), "Content-Type", form.FormDataContentType()))
		if err != nil {
			return err
		}
		u.parts = append(u.parts, answeredID(u.r.t, a))
	}
	parts, _ := json.Marshal(u.parts)
	a, err := u.r.endpoint.Try(u.r.t.Context(), post("/v1/uploads/"+u.id+"/complete", fmt.Sprintf(`{"part_ids":%s}`, parts)))
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(u.content))
	var done struct {
		Status string
		File   struct{ ID, SHA256 string }
	}
	if err := json.Unmarshal([]byte(a.Body), &done); err != nil || done.Status != "completed" || done.File.SHA256 != hex.EncodeToString(sum[:]) {
		u.r.t.Fatalf("completing %s: %d %s", u.id, a.Status, a.Body)
	}
	u.file = done.File.ID
	return nil
}

// TestCrashDuringUploadInParts kills the server at each moment of an upload in parts. The client goes on where it was, and gets its file. In the
// end there is one file for each upload, the quota counts nothing else, and the sweep leaves no other blob.
func TestCrashDuringUploadInParts(t *testing.T) {
	t.Parallel()
	for on, points := range map[engine][]string{onSQLite: pointsOf(slices.Concat(uploadSteps, fileSteps)), onPostgres: {"add_part.written", "create_file.committed", "end_upload.committed"}} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on)
			stored := 0
			for n, point := range points {
				l := r.start(at(point))
				u := r.beginUpload(n)
				if err := u.run(); err == nil {
					t.Fatalf("the server lived through %s", point)
				}
				if l.pass(patience) {
					r.bury(l)
				}
				if l.crashed != point {
					t.Fatalf("the server did not come to %s; it printed:\n%s", point, tail(l.Output()))
				}
				l = r.start(death{})
				if err := u.run(); err != nil {
					t.Fatalf("after %s: %v", point, err)
				}
				stored += len(u.content)
				if a := r.answer(get("/v1/storage")); !strings.Contains(a.Body, fmt.Sprintf(`"file_bytes":%d,`, stored)) {
					t.Errorf("after %s %d bytes of files are stored, and the quota counts %s", point, stored, a.Body)
				}
				file := u.file
				if err := u.run(); err != nil || u.file != file {
					t.Errorf("completing again gets %s instead of %s, %v", u.file, file, err)
				}
				l.Kill()
			}
			if left := len(blobFiles(t, r.data)); left < len(points) || left > 3*len(points) {
				t.Errorf("%d blobs are left of %d uploads", left, len(points))
			}
			r.sweepBlobs()
			if left := blobFiles(t, r.data); len(left) != len(points) {
				t.Errorf("the sweep leaves the blobs %v of %d files", left, len(points))
			}
			last := r.start(death{})
			a := r.answer(get("/v1/files"))
			if got := strings.Count(a.Body, `"object":"file"`); got != len(points) {
				t.Errorf("%d uploads made %d files", len(points), got)
			}
			last.Kill()
		})
	}
}

// sweepBlobs removes the orphans of a dead server, whatever their age.
func (r *rig) sweepBlobs() {
	r.t.Helper()
	s := r.openStore()
	if _, err := s.PurgeBlobs(r.t.Context(), store.BlobPage{StoredBefore: time.Now().Add(time.Hour), Limit: 1000}); err != nil {
		r.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// TestAbandonedUploadAfterCrash holds that an upload whose client does not come back after a crash ends by itself, at each moment: its parts
// leave the quota and the disk.
func TestAbandonedUploadAfterCrash(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite)
	for n, point := range []string{"add_part.committed", "choose_parts.committed", "create_file.begin", uploadSweepStep + ".written", uploadSweepStep + ".committed"} {
		if sweep := strings.HasPrefix(point, uploadSweepStep); sweep {
			r.liveAt(point)
			continue
		}
		l := r.start(at(point))
		if err := r.beginUpload(n).run(); err == nil {
			t.Fatalf("the server lived through %s", point)
		}
		if l.pass(patience) {
			r.bury(l)
		}
		if point == "create_file.begin" {
			r.database(func(db *sql.DB) error {
				_, err := db.ExecContext(t.Context(), `UPDATE uploads SET expires_at = 1`)
				return err
			})
		}
	}
	last := r.start(death{})
	Await(t, "the parts to leave the quota", func() error {
		if a := r.answer(get("/v1/storage")); a.Status != http.StatusOK || !strings.Contains(a.Body, `"file_bytes":0,`) {
			return fmt.Errorf("the quota counts %d %s", a.Status, a.Body)
		}
		return nil
	})
	if code := last.Stop(); code != 0 {
		t.Errorf("the server stopped with code %d", code)
	}
	r.sweepBlobs()
	if left := blobFiles(t, r.data); len(left) != 0 {
		t.Errorf("blobs are left: %v", left)
	}
	r.wantRows(map[string]int{"uploads": 0, "upload_parts": 0, "files": 0})
}
