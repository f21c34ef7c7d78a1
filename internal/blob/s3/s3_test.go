package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"penstock/internal/blob"
	"penstock/internal/blob/blobtest"
)

// startServer builds and runs an S3 server of its own module, and returns its URL.
func startServer(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds an S3 server")
	}
	scratch := t.TempDir()
	binary := filepath.Join(scratch, "s3server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = "s3server"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the S3 server: %v\n%s", err, out)
	}
	address := freeAddress(t)
	server := exec.Command(binary, address, filepath.Join(scratch, "s3"))
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	url := "http://" + address
	awaitServer(t, url)
	return url
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func awaitServer(t *testing.T, url string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		if resp, err := http.Get(url + "/health"); err == nil {
			resp.Body.Close()
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the S3 server does not answer")
		}
	}
}

// newStore opens a bucket that was not there before.
func newStore(t *testing.T, url, bucket string) *Store {
	t.Helper()
	s, err := New(Config{
		Endpoint: url, Bucket: bucket, Region: "us-east-1", Prefix: "some/where/", AccessKey: "test", SecretKey: "testsecret", PathStyle: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestConformance must not be parallel: a part of the suite measures memory.
func TestConformance(t *testing.T) {
	url := startServer(t)
	var buckets atomic.Int32
	open := func(t *testing.T) *Store { return newStore(t, url, fmt.Sprintf("bucket-%d", buckets.Add(1))) }
	warmUp(t, open(t))
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t) })

	t.Run("large blobs are refused too when the name is taken", func(t *testing.T) {
		t.Parallel()
		s, name := open(t), blob.NewName()
		large := strings.Repeat("x", PartBytes+10)
		if n, err := s.Put(t.Context(), name, strings.NewReader(large)); err != nil || n != PartBytes+10 {
			t.Fatalf("Put returned %d, %v", n, err)
		}
		if _, err := s.Put(t.Context(), name, strings.NewReader(large)); !errors.Is(err, blob.ErrExists) {
			t.Errorf("Put over it returned %v, want ErrExists", err)
		}
		wantNoUploads(t, s)
	})
	t.Run("a broken source leaves no parts", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		sent := 0
		_, err := s.Put(ctx, blob.NewName(), readerFunc(func(p []byte) (int, error) {
			if sent += len(p); sent > 2*PartBytes {
				cancel()
			}
			return len(p), nil
		}))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Put returned %v", err)
		}
		wantNoUploads(t, s)
	})
	t.Run("other objects are left alone", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for _, key := range []string{"some/where/else", "some/thing", "0123456789abcdef0123456789abcdef"} {
			if _, err := s.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: strings.NewReader("x")}); err != nil {
				t.Fatal(err)
			}
		}
		listed, err := s.List(t.Context(), blob.Query{OlderThan: time.Now().Add(time.Hour), Limit: 10})
		if err != nil || len(listed) != 0 {
			t.Errorf("List shows %+v, %v", listed, err)
		}
	})
	t.Run("a wrong key or bucket is not ready", func(t *testing.T) {
		t.Parallel()
		for _, c := range []Config{
			{Endpoint: url, Bucket: "nowhere", Region: "us-east-1", AccessKey: "test", SecretKey: "testsecret", PathStyle: true},
			{Endpoint: url, Bucket: "bucket-1", Region: "us-east-1", AccessKey: "test", SecretKey: "wrong", PathStyle: true},
		} {
			s, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(t.Context()); err == nil {
				t.Errorf("%s is ready with the key %s", c.Bucket, c.SecretKey)
			}
		}
	})
}

// warmUp opens connections and fills the pool of parts, which are there once for all blobs.
func warmUp(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.Put(t.Context(), blob.NewName(), strings.NewReader(strings.Repeat("x", PartBytes+1))); err != nil {
		t.Fatal(err)
	}
}

func wantNoUploads(t *testing.T, s *Store) {
	t.Helper()
	out, err := s.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &s.bucket})
	if err != nil || len(out.Uploads) != 0 {
		t.Errorf("uploads left behind: %v, %v", out, err)
	}
}

// TestRetries holds that a store that is down for a moment is asked again, and that the content is sent again
// whole.
func TestRetries(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		if calls.Add(1) < 3 || string(body[:n]) != "content" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	s, err := New(Config{Endpoint: "http://" + l.Addr().String(), Bucket: "b", Region: "r", AccessKey: "a", SecretKey: "s", PathStyle: true})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Put(t.Context(), blob.NewName(), strings.NewReader("content")); err != nil || n != 7 || calls.Load() != 3 {
		t.Errorf("Put returned %d, %v after %d calls", n, err, calls.Load())
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
