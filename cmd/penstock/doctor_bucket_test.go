package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// bucket is a store of objects that speaks as much of S3 as the doctor asks for.
type bucket struct {
	refusal func(*http.Request) (status int, code string) // "" lets the call through
	replace bool                                          // it overwrites in spite of If-None-Match

	mu      sync.Mutex
	objects map[string]string
	calls   map[string]int
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[r.Method]++
	fail := func(status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, `<Error><Code>%s</Code><Message>as the test wants it</Message></Error>`, code)
	}
	if b.refusal != nil {
		if status, code := b.refusal(r); code != "" {
			fail(status, code)
			return
		}
	}
	text, known := b.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPut && known && !b.replace && r.Header.Get("If-None-Match") == "*":
		fail(http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body) // what is missing will not be read back
		b.objects[r.URL.Path] = string(body)
	case r.Method == http.MethodDelete:
		delete(b.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	case !known:
		fail(http.StatusNotFound, "NoSuchKey")
	default:
		_, _ = io.WriteString(w, text)
	}
}

func TestDoctorChecksTheBucket(t *testing.T) {
	t.Parallel()
	always := func(status int, code string) func(*http.Request) (int, string) {
		return func(*http.Request) (int, string) { return status, code }
	}
	for name, tt := range map[string]struct {
		bucket       *bucket
		status       health
		detail, next string
	}{
		"in order":       {status: healthOK, detail: "an object was put, read and removed in"},
		"no bucket":      {bucket: &bucket{refusal: always(404, "NoSuchBucket")}, status: healthFail, detail: "NoSuchBucket", next: "create the bucket"},
		"a wrong key":    {bucket: &bucket{refusal: always(403, "InvalidAccessKeyId")}, status: healthFail, detail: "InvalidAccessKeyId", next: "access_key"},
		"a wrong secret": {bucket: &bucket{refusal: always(403, "SignatureDoesNotMatch")}, status: healthFail, detail: "SignatureDoesNotMatch", next: "secret_key"},
		"a wrong region": {bucket: &bucket{refusal: always(400, "AuthorizationHeaderMalformed")}, status: healthFail, detail: "AuthorizationHeaderMalformed", next: "region"},
		"it overwrites":  {bucket: &bucket{replace: true}, status: healthFail, detail: "replaces objects", next: "If-None-Match"},
		"it cannot erase": {bucket: &bucket{refusal: func(r *http.Request) (int, string) {
			if r.Method == http.MethodDelete {
				return 403, "AccessDenied"
			}
			return 0, ""
		}}, status: healthFail, detail: "AccessDenied", next: "s3:DeleteObject"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := tt.bucket
			if b == nil {
				b = new(bucket)
			}
			b.objects, b.calls = map[string]string{}, map[string]int{}
			server := httptest.NewServer(b)
			t.Cleanup(server.Close)
			f := bucketFinding(t, server.URL)
			if f.Status != tt.status || !strings.Contains(f.Detail, tt.detail) || !strings.Contains(f.Next, tt.next) || !strings.HasPrefix(f.Detail, "things at "+server.URL) {
				t.Errorf("%+v", f)
			}
			if tt.status == healthOK && (len(b.objects) != 0 || b.calls[http.MethodPut] == 0 || b.calls[http.MethodGet] == 0 || b.calls[http.MethodDelete] == 0) {
				t.Errorf("it made %v and left %d objects", b.calls, len(b.objects))
			}
		})
	}
	t.Run("nobody is there", func(t *testing.T) {
		t.Parallel()
		gone := httptest.NewServer(nil)
		gone.Close()
		if f := bucketFinding(t, gone.URL); f.Status != healthFail || !strings.Contains(f.Detail, "does not answer") || !strings.Contains(f.Next, "endpoint") {
			t.Errorf("%+v", f)
		}
	})
}

// bucketFinding runs the doctor with a bucket at a URL.
func bucketFinding(t *testing.T, url string) finding {
	t.Helper()
	d := goodDesk(t)
	d.env["S3_SECRET"] = "secret-0123456789abcdef"
	text := goodYAML + fmt.Sprintf("blobs: {s3: {endpoint: %q, bucket: things, path_style: true, access_key: \"${S3_SECRET}\", secret_key: \"${S3_SECRET}\"}}\n", url)
	found, got := findings(t, d, "--config", write(t, "s3.yaml", text))
	if strings.Contains(got.stdout, "secret-0123456789abcdef") {
		t.Errorf("it shows a secret: %s", got.stdout)
	}
	return found["blobs"]
}
