package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// bucket is where a rig keeps its blobs.
const bucket = "penstock-e2e"

// startS3 runs a real S3 server with an empty bucket, and returns its URL and the directory in which it keeps objects.
func startS3(t *testing.T) (url, objects string) {
	t.Helper()
	binary, root, address := filepath.Join(t.TempDir(), "s3server"), t.TempDir(), FreeAddress(t)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = filepath.Join("..", "blob", "s3", "s3server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the S3 server: %v\n%s", err, out)
	}
	server := exec.Command(binary, address, root)
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	url = "http://" + address
	client := s3.New(s3.Options{
		BaseEndpoint: &url, Region: "us-east-1", UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider("test", "testsecret", ""),
	})
	Await(t, "the S3 server", func() error {
		_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)})
		return err
	})
	return url, filepath.Join(root, "data", bucket)
}

// TestCrashOnS3 runs files, a batch, its results and their file on S3, with a kill at every step between: nothing of
// it needs the disk of the process that died.
func TestCrashOnS3(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite)
	url, objects := startS3(t)
	r.env = append(r.env, "E2E_S3_KEY=test", "E2E_S3_SECRET=testsecret")
	const public = "https://llm.example.com/penstock"
	r.more = fmt.Sprintf(`public_url: %s/
blobs: {s3: {endpoint: %s, bucket: %s, prefix: e2e/, path_style: true, access_key: "${E2E_S3_KEY}", secret_key: "${E2E_S3_SECRET}"}}
`, public, url, bucket)
	r.configure()
	const n = 40
	lines := largeLines(n)
	r.submitFileWhileDying(lines, "split.committed")
	r.liveAt("finish.begin")
	for _, moment := range moments {
		r.liveAt("finish_batch." + moment)
	}
	last := r.start(death{})
	s := last.Server
	var jobs struct{ Data []struct{ ID, Status string } }
	if err := json.Unmarshal([]byte(s.Do(get("/v1/jobs")).Body), &jobs); err != nil || len(jobs.Data) != 1 {
		t.Fatalf("there are %d jobs: %v", len(jobs.Data), err)
	}
	id := jobs.Data[0].ID
	if job := decodeJob(t, s.Do(get("/v1/jobs/"+id))); job.Status != "succeeded" || job.Counts.Succeeded != n {
		t.Errorf("the job is %+v", job)
	}
	results := s.Do(get("/v1/jobs/" + id + "/results?order=input")).Body
	r.checkRows(results, n)
	s.checkPublicLink(id, public, results)
	s.checkContent(lines)
	if local := blobFiles(t, r.data); len(local) > 0 {
		t.Errorf("the data directory holds %v", local)
	}
	if stored := countFiles(t, objects); stored < n {
		t.Errorf("the bucket holds %d objects, though %d inputs are too large for rows", stored, n)
	}
	if a := s.Do(Call{Method: http.MethodDelete, Path: "/v1/jobs/" + id}); a.Status != http.StatusOK && a.Status != http.StatusNoContent {
		t.Errorf("delete: %d %s", a.Status, a.Body)
	}
	Await(t, "the inputs to go", func() error {
		if stored := countFiles(t, objects); stored >= n {
			return fmt.Errorf("%d objects are left", stored)
		}
		return nil
	})
	if code := last.Stop(); code != 0 {
		t.Errorf("the last server stopped with code %d:\n%s", code, tail(last.Output()))
	}
}

// largeLines are lines whose inputs do not fit into rows, however well they are compressed.
func largeLines(n int) string {
	noise := rand.NewChaCha8([32]byte{1})
	var b strings.Builder
	for i := range n {
		secret := make([]byte, 48<<10)
		_, _ = noise.Read(secret) // it never fails
		fmt.Fprintf(&b, `{"custom_id":"row-%d","body":{"model":"fast","messages":[{"role":"user","content":"%s large %d [sim:tokens=2]"}]}}`+"\n",
			i, base64.StdEncoding.EncodeToString(secret), i)
	}
	return b.String()
}

// checkPublicLink follows the link to a job's results, as far as it goes without the proxy that it names.
func (s *Server) checkPublicLink(job, public, results string) {
	s.t.Helper()
	a := s.Do(Call{Method: http.MethodPost, Path: "/v1/jobs/" + job + "/results/url"})
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(a.Body), &link); err != nil || !strings.HasPrefix(link.URL, public+"/v1/") {
		s.t.Fatalf("the link is %s, want it to begin with %s", a.Body, public)
	}
	a = s.Do(Call{Method: http.MethodGet, Path: strings.TrimPrefix(link.URL, public), Header: map[string]string{"Authorization": "none"}})
	if a.Status != http.StatusOK || a.Body != results {
		s.t.Errorf("the artifact is not the results: %d, %d bytes instead of %d", a.Status, len(a.Body), len(results))
	}
}

// checkContent holds that the file that was uploaded is there as it was sent.
func (s *Server) checkContent(want string) {
	s.t.Helper()
	var files struct {
		Data []struct{ ID, Filename string }
	}
	if err := json.Unmarshal([]byte(s.Do(get("/v1/files")).Body), &files); err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files.Data {
		if f.Filename != "rows.jsonl" {
			continue
		}
		if a := s.Do(get("/v1/files/" + f.ID + "/content")); a.Body != want {
			s.t.Errorf("the file has %d bytes, want the %d that were sent", len(a.Body), len(want))
		}
		return
	}
	s.t.Errorf("the file that was uploaded is not among %+v", files.Data)
}

// countFiles counts the objects of a bucket.
func countFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "e2e"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return nil // an object that goes away meanwhile is none
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
