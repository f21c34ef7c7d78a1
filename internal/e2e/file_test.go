package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// uploadForm is the body of an upload, as a stream: the content is what content yields.
func uploadForm(content io.Reader) (body io.Reader, contentType string) {
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	_ = form.WriteField("purpose", "batch") // a buffer takes everything
	_, _ = form.CreateFormFile("file", "rows.jsonl")
	tail := "\r\n--" + form.Boundary() + "--\r\n"
	return io.MultiReader(&head, content, strings.NewReader(tail)), form.FormDataContentType()
}

func (s *Server) upload(content io.Reader) (Answer, error) {
	body, contentType := uploadForm(content)
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+"/v1/files", body)
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, string(text)}, err
}

func fileLine(n int) string {
	return fmt.Sprintf(`{"custom_id":"row-%d","body":{"model":"sim","input":"file line %d"}}`+"\n", n, n)
}

// TestKillDuringUpload kills the server at every moment of an upload. Afterwards there is the whole file or none;
// what its content left behind is at most one blob, for the sweep.
func TestKillDuringUpload(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"streaming", "create_file.begin", "create_file.written", "create_file.committed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			var env []string
			if point != "streaming" {
				env = append(env, "PENSTOCK_CRASH="+point+":1")
			}
			s := Dev(t, data, env...)
			n := 0
			content := readerFunc(func(p []byte) (int, error) {
				if n == 3000 {
					return 0, io.EOF
				}
				if n == 2000 && point == "streaming" {
					s.Kill()
				}
				n++
				return copy(p, fileLine(n)), nil
			})
			if a, err := s.upload(content); err == nil {
				t.Fatalf("the server lived: %d %s", a.Status, a.Body)
			}
			s.Exit()
			s = Dev(t, data)
			a := s.Do(Call{Method: http.MethodGet, Path: "/v1/files"})
			kept := point == "create_file.committed"
			if got := strings.Count(a.Body, `"object":"file"`); got != 0 && !kept || got != 1 && kept {
				t.Errorf("after a crash at %s: %s", point, a.Body)
			}
			if kept && !strings.Contains(a.Body, `"lines":3000,`) {
				t.Errorf("the file is not whole: %s", a.Body)
			}
			if blobs := blobFiles(t, data); len(blobs) > 1 || kept && len(blobs) == 0 {
				t.Errorf("after a crash at %s there are blobs %v", point, blobs)
			}
		})
	}
}

// blobFiles lists the finished blobs of a data directory.
func blobFiles(t *testing.T, data string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(data, "blobs", "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestUploadNeedsAForm goes through what is no upload.
func TestUploadNeedsAForm(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := Dev(t, data)
	form := func(fields string) Call {
		return Call{Method: http.MethodPost, Path: "/v1/files", Body: fields + "--x--\r\n", Header: map[string]string{"Content-Type": "multipart/form-data; boundary=x"}}
	}
	field := func(name, value string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	purpose, file := field("purpose", "batch"), field(`file"; filename="../../a.jsonl`, fileLine(1))
	for name, c := range map[string]struct {
		call Call
		want int
		says string
	}{
		"no form":           {Call{Method: http.MethodPost, Path: "/v1/files", Body: "{}"}, 400, "Send a form"},
		"no file":           {form(purpose), 400, "file is missing"},
		"no purpose":        {form(file), 400, "purpose is missing"},
		"two files":         {form(purpose + file + file), 400, "file is given twice"},
		"two purposes":      {form(purpose + purpose), 400, "purpose is given twice"},
		"unknown field":     {form(purpose + field("colour", "red")), 400, "colour"},
		"half an expiry":    {form(purpose + file + field("expires_after[anchor]", "created_at")), 400, "both"},
		"too short a life":  {form(purpose + field("expires_after[seconds]", "60")), 400, "from 3600 to 2592000"},
		"cut off":           {Call{Method: http.MethodPost, Path: "/v1/files", Body: purpose + file[:len(file)-5], Header: map[string]string{"Content-Type": "multipart/form-data; boundary=x"}}, 400, "to its end"},
		"all that it needs": {form(file + purpose), 200, `"filename":"a.jsonl"`},
	} {
		if a := s.Do(c.call); a.Status != c.want || !strings.Contains(a.Body, c.says) {
			t.Errorf("%s: %d %s; want %d and %q", name, a.Status, a.Body, c.want, c.says)
		}
	}
	if blobs := blobFiles(t, data); len(blobs) != 1 {
		t.Errorf("refused uploads left %d blobs behind", len(blobs)-1)
	}
	if left, err := os.ReadDir(filepath.Join(data, "blobs", "tmp")); err != nil && !errors.Is(err, os.ErrNotExist) || len(left) != 0 {
		t.Errorf("refused uploads left %v in tmp", left)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
