package e2e

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"penstock"
)

// The content of files. Only the first bytes tell the types apart.
const (
	aPDF  = "%PDF-1.7\n1 0 obj\n\xff\xfe%%EOF\n"
	aPNG  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00"
	aText = "The code word is \"größe\".\nIt is secret.\n"
)

// sendFile uploads a file for requests, with the purpose behind the content, as SDKs send it.
func (s *Server) sendFile(t *testing.T, purpose, name, content string, headers ...string) Answer {
	t.Helper()
	form, contentType := formOf(purpose, name, content)
	return s.Do(post("/v1/files", form, append(headers, "Content-Type", contentType)...))
}

// formOf is the form of an upload.
func formOf(purpose, name, content string) (form, contentType string) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, _ := w.CreateFormFile("file", name) // a buffer takes everything
	_, _ = io.WriteString(part, content)
	if purpose != "" {
		_ = w.WriteField("purpose", purpose)
	}
	_ = w.Close()
	return body.String(), w.FormDataContentType()
}

// fileID uploads a file and returns its id.
func (s *Server) fileID(t *testing.T, purpose, name, content string) string {
	t.Helper()
	a := s.sendFile(t, purpose, name, content)
	var f struct{ ID string }
	if err := json.Unmarshal([]byte(a.Body), &f); err != nil || a.Status != http.StatusOK {
		t.Fatalf("uploading %s: %d %s", name, a.Status, a.Body)
	}
	return f.ID
}

// mirrorUpstream records the bodies that it gets, and answers in the dialect of the path.
type mirrorUpstream struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func startMirror(t *testing.T) *mirrorUpstream {
	t.Helper()
	u := &mirrorUpstream{}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

func (u *mirrorUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	u.bodies = append(u.bodies, string(text))
	u.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":1}}`)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		io.WriteString(w, `{"id":"r","object":"response","status":"completed","model":"x","output":[{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}],"usage":{"input_tokens":5,"output_tokens":1,"total_tokens":6}}`)
	case strings.Contains(r.URL.Path, ":generateContent"):
		io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1}}`)
	case strings.HasSuffix(r.URL.Path, "/converse"):
		io.WriteString(w, `{"output":{"message":{"role":"assistant","content":[{"text":"ok"}]}},"stopReason":"end_turn","usage":{"inputTokens":5,"outputTokens":1,"totalTokens":6}}`)
	default:
		io.WriteString(w, `{"id":"c","object":"chat.completion","model":"x","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`)
	}
}

// last is the body that came last.
func (u *mirrorUpstream) last() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.bodies) == 0 {
		return ""
	}
	return u.bodies[len(u.bodies)-1]
}

const mirrorModels = `
providers:
  up: {kind: openai, base_url: %[1]s/v1}
  chat: {kind: together, base_url: %[1]s/v1, api_key: "${E2E_KEY}"}
  claude: {kind: anthropic, base_url: %[1]s/v1, api_key: "${E2E_KEY}"}
  google: {kind: gemini, base_url: %[1]s/v1beta, api_key: "${E2E_KEY}"}
  aws: {kind: bedrock, base_url: "%[1]s", aws: {region: eu-central-1, access_key_id: AKIDEXAMPLE, secret_access_key: "${E2E_KEY}"}}
targets:
  up: {provider: up, upstream_model: x}
  chat: {provider: chat, upstream_model: x}
  claude: {provider: claude, upstream_model: x, max_output_tokens: 100}
  google: {provider: google, upstream_model: x}
  aws: {provider: aws, upstream_model: x}
models: {up: {targets: [up]}, chat: {targets: [chat]}, claude: {targets: [claude]}, google: {targets: [google]}, aws: {targets: [aws]}}
`

// fileBodies name a file in every dialect.
var fileBodies = []struct{ path, body, param string }{
	{chatPath, `{"model":"%s","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"file","file":{"file_id":"%s"}}]}]}`, "messages[0].content[1].file.file_id"},
	{"/v1/responses", `{"model":"%s","input":[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_file","file_id":"%s"}]}]}`, "input[0].content[1].file_id"},
	{messagesPath, `{"model":"%s","max_tokens":5,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"%s"}},{"type":"text","text":"x"}]}]}`, "messages[0].content[0].source.file_id"},
}

// imageBodies name an image.
var imageBodies = []struct{ path, body, param string }{
	{chatPath, fileBodies[0].body, fileBodies[0].param},
	{"/v1/responses", `{"model":"%s","input":[{"role":"user","content":[{"type":"input_image","file_id":"%s","detail":"low"}]}]}`, "input[0].content[0].file_id"},
	{messagesPath, `{"model":"%s","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"%s"}}]}]}`, "messages[0].content[0].source.file_id"},
}

// TestFilesInRequests holds that every dialect can name files, and that every kind of target gets their content, and no id.
func TestFilesInRequests(t *testing.T) {
	t.Parallel()
	u := startMirror(t)
	s := serveOne(t, fmt.Sprintf(mirrorModels, u.URL))
	pdf, png, text := s.fileID(t, "user_data", "a.pdf", aPDF), s.fileID(t, "vision", "a.png", aPNG), s.fileID(t, "user_data", "notes.txt", aText)
	quoted, _ := json.Marshal(aText)
	inside := strings.Trim(string(quoted), `"`)
	for _, model := range []string{"up", "chat", "claude", "google", "aws"} {
		for i := range fileBodies {
			for _, tt := range []struct{ path, body, id, want string }{
				{fileBodies[i].path, fileBodies[i].body, pdf, base64.StdEncoding.EncodeToString([]byte(aPDF))},
				{imageBodies[i].path, imageBodies[i].body, png, base64.StdEncoding.EncodeToString([]byte(aPNG))},
				{fileBodies[i].path, fileBodies[i].body, text, inside},
			} {
				body := fmt.Sprintf(tt.body, model, tt.id)
				a := s.Do(post(tt.path, body))
				if got := u.last(); a.Status != http.StatusOK || !strings.Contains(got, tt.want) || strings.Contains(got, tt.id) {
					t.Errorf("%s on %s: %d %s; the upstream got %s", body, model, a.Status, a.Body, got)
				}
			}
		}
	}
}

// TestFilesAreExplained holds that the record of a call, and an item, name the files and the hash of what was sent, and that deleting a
// file loses no accepted work.
func TestFilesAreExplained(t *testing.T) {
	t.Parallel()
	onEngines(t, fmt.Sprintf(mirrorModels, startMirror(t).URL), filesAreExplained)
}

func filesAreExplained(t *testing.T, s *Server) {
	sum := sha256.Sum256([]byte(aPDF))
	hash := hex.EncodeToString(sum[:])
	id := s.fileID(t, "user_data", "a.pdf", aPDF)
	want := fmt.Sprintf(`"files":[{"path":%q,"file_id":%q,"media_type":"application/pdf","bytes":%d,"sha256":%q}]`, fileBodies[0].param, id, len(aPDF), hash)
	a := s.Do(post(chatPath, fmt.Sprintf(fileBodies[0].body, "up", id)))
	Await(t, "the record", func() error {
		if got := s.Do(get("/v1/requests/" + a.Header.Get("x-request-id"))); !strings.Contains(got.Body, want) {
			return fmt.Errorf("want %s in %s", want, got.Body)
		}
		return nil
	})
	line := fmt.Sprintf(`{"custom_id":"a","body":%s}`, fmt.Sprintf(fileBodies[0].body, "up", id))
	lines := s.fileID(t, "batch", "rows.jsonl", line+"\n")
	for name, job := range map[string]string{
		"a job":             fmt.Sprintf(`{"model":"up","input":%s}`, fmt.Sprintf(fileBodies[0].body, "up", id)),
		"a job over a file": fmt.Sprintf(`{"model":"up","input_file":%q}`, lines),
	} {
		a := s.Do(post("/v1/jobs", job, "Prefer", "wait=20"))
		var done struct{ ID, Status string }
		if err := json.Unmarshal([]byte(a.Body), &done); err != nil || done.Status != "succeeded" {
			t.Fatalf("%s: %d %s", name, a.Status, a.Body)
		}
		if got := s.Do(get("/v1/items/" + firstItem(t, done.ID))); !strings.Contains(got.Body, want) {
			t.Errorf("%s: want %s in %s", name, want, got.Body)
		}
	}
	if got := s.Do(Call{Method: http.MethodDelete, Path: "/v1/files/" + id}); got.Status != http.StatusOK {
		t.Errorf("deleting the file afterwards: %d %s", got.Status, got.Body)
	}
	if got := s.Do(post(chatPath, fmt.Sprintf(fileBodies[0].body, "up", id))); got.Status != http.StatusNotFound || !strings.Contains(got.Body, fileBodies[0].param) {
		t.Errorf("a deleted file: %d %s", got.Status, got.Body)
	}
	if got := s.Do(post("/v1/jobs", fmt.Sprintf(`{"model":"up","input_file":%q}`, lines))); got.Status != http.StatusNotFound || !strings.Contains(got.Body, id) {
		t.Errorf("a job over lines that name a deleted file: %d %s", got.Status, got.Body)
	}
}

// TestFilesAreRefused holds that a file that a request cannot use is an error that names the place, in every dialect, and that nothing
// of the request reaches an upstream.
func TestFilesAreRefused(t *testing.T) {
	t.Parallel()
	u := startMirror(t)
	s := serveOne(t, fmt.Sprintf(mirrorModels, u.URL)+"limits: {max_body_bytes: 65536}\n")
	png, batch := s.fileID(t, "vision", "a.png", aPNG), s.fileID(t, "batch", "rows.jsonl", `{"custom_id":"a","body":{"model":"up","messages":[]}}`+"\n")
	pdf, large := s.fileID(t, "user_data", "a.pdf", aPDF), s.fileID(t, "user_data", "b.pdf", aPDF+strings.Repeat("\xff", 40_000))
	for i, b := range fileBodies {
		for _, tt := range []struct {
			body, param, id string
			status          int
		}{
			{b.body, b.param, "file_01JQ0000000000000000000000", http.StatusNotFound},
			{b.body, b.param, batch, http.StatusBadRequest},
			{imageBodies[i].body, imageBodies[i].param, pdf, http.StatusBadRequest},
			{b.body, b.param, png, http.StatusBadRequest},
			{strings.Replace(b.body, `"text":"x"`, `"text":"`+strings.Repeat("x", 20_000)+`"`, 1), b.param, large, http.StatusRequestEntityTooLarge},
		} {
			if b.path == chatPath && (tt.id == png || tt.id == pdf) { // a chat has one part for all types
				continue
			}
			a := s.Do(post(b.path, fmt.Sprintf(tt.body, "up", tt.id)))
			if a.Status != tt.status || !strings.Contains(a.Body, tt.param) {
				t.Errorf("%s: %d %s; want %d and %s", fmt.Sprintf(b.body, "up", tt.id), a.Status, a.Body, tt.status, tt.param)
			}
			job := fmt.Sprintf(`{"model":"up","endpoint":%q,"inputs":[{"body":%s}]}`, b.path, fmt.Sprintf(tt.body, "up", tt.id))
			if a := s.Do(post("/v1/jobs", job)); a.Status != tt.status || !strings.Contains(a.Body, tt.param) {
				t.Errorf("%s: %d %s; want %d and %s", job, a.Status, a.Body, tt.status, tt.param)
			}
		}
	}
	for _, tt := range []struct{ purpose, content, want string }{
		{"vision", aPDF, "user_data"}, {"user_data", "\x00\x01\x02", "application/pdf"}, {"user_data", "", "empty"}, {"assistants", aPDF, "user_data"},
	} {
		if a := s.sendFile(t, tt.purpose, "a", tt.content); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, tt.want) {
			t.Errorf("%s of %q: %d %s", tt.purpose, tt.content, a.Status, a.Body)
		}
	}
	if a := s.sendFile(t, "user_data", "a.pdf", aPDF+strings.Repeat("x", 65536)); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a file that no request can hold: %d %s", a.Status, a.Body)
	}
	if a := s.Do(get("/v1/files/" + pdf + "/content")); a.Status != http.StatusBadRequest {
		t.Errorf("downloading it: %d %s", a.Status, a.Body)
	}
	if u.last() != "" {
		t.Errorf("the upstream got %s", u.last())
	}
}

// TestUploads holds that a file can be sent in parts, in any order, and that each step can be repeated.
func TestUploads(t *testing.T) {
	t.Parallel()
	onEngines(t, fmt.Sprintf(mirrorModels, "http://127.0.0.1:9"), uploads)
}

func uploads(t *testing.T, s *Server) {
	content := aPDF + strings.Repeat("0123456789", 1000)
	begin := func(bytes int) string {
		t.Helper()
		a := s.Do(post("/v1/uploads", fmt.Sprintf(`{"bytes":%d,"filename":"a.pdf","mime_type":"application/pdf","purpose":"user_data"}`, bytes)))
		return answeredID(t, a)
	}
	part := func(id, data string) string {
		t.Helper()
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		w, _ := form.CreateFormFile("data", "blob")
		_, _ = io.WriteString(w, data)
		_ = form.Close()
		return answeredID(t, s.Do(post("/v1/uploads/"+id+"/parts", body.String(), "Content-Type", form.FormDataContentType())))
	}
	complete := func(id, md5 string, parts ...string) Answer {
		text, _ := json.Marshal(map[string]any{"part_ids": parts, "md5": md5})
		return s.Do(post("/v1/uploads/"+id+"/complete", string(text)))
	}
	id := begin(len(content))
	second := part(id, content[5000:])
	part(id, "sent, but never listed")
	first := part(id, content[:5000])
	sum := md5.Sum([]byte(content))
	if a := complete(id, strings.Repeat("0", 32), first, second); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"param":"md5"`) {
		t.Errorf("a wrong checksum: %d %s", a.Status, a.Body)
	}
	if a := complete(id, "", first); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "5000 bytes") {
		t.Errorf("a part is missing: %d %s", a.Status, a.Body)
	}
	if a := complete(id, "", first, first); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "part_ids[1]") {
		t.Errorf("a part twice: %d %s", a.Status, a.Body)
	}
	done := complete(id, hex.EncodeToString(sum[:]), first, second)
	hash := sha256.Sum256([]byte(content))
	if done.Status != http.StatusOK || !strings.Contains(done.Body, `"status":"completed"`) || !strings.Contains(done.Body, hex.EncodeToString(hash[:])) {
		t.Fatalf("completing: %d %s", done.Status, done.Body)
	}
	if again := complete(id, "", first, second); again.Body != done.Body {
		t.Errorf("completing again: %d %s; want %s", again.Status, again.Body, done.Body)
	}
	if a := s.Do(post("/v1/uploads/"+id+"/cancel", "")); a.Status != http.StatusConflict {
		t.Errorf("cancelling it afterwards: %d %s", a.Status, a.Body)
	}
	if a := s.Do(get("/v1/storage")); !strings.Contains(a.Body, fmt.Sprintf(`"file_bytes":%d`, len(content))) {
		t.Errorf("the quota counts %s; the file has %d bytes", a.Body, len(content))
	}
	other := begin(10)
	part(other, "12345")
	for range 2 {
		if a := s.Do(post("/v1/uploads/"+other+"/cancel", "")); a.Status != http.StatusOK || !strings.Contains(a.Body, `"status":"cancelled"`) {
			t.Errorf("cancelling: %d %s", a.Status, a.Body)
		}
	}
	if a := s.Do(get("/v1/storage")); !strings.Contains(a.Body, fmt.Sprintf(`"file_bytes":%d`, len(content))) {
		t.Errorf("after a cancel the quota counts %s; the file has %d bytes", a.Body, len(content))
	}
	if a := s.Do(post("/v1/uploads", `{"bytes":100000000000,"filename":"a.pdf","purpose":"user_data"}`)); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a file that no request can hold: %d %s", a.Status, a.Body)
	}
}

// firstItem is the id of the first item of a job.
func firstItem(t *testing.T, job string) string {
	t.Helper()
	id, err := penstock.ViewJob.Parse(job)
	if err != nil {
		t.Fatal(err)
	}
	return penstock.ViewItem.Format(penstock.ItemID(id, 0))
}

// answeredID is the id in an answer.
func answeredID(t *testing.T, a Answer) string {
	t.Helper()
	var v struct{ ID string }
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return v.ID
}

// TestAnthropicFiles holds that a caller of Anthropic's Files API is answered in its shape, on the same paths.
func TestAnthropicFiles(t *testing.T) {
	t.Parallel()
	s := Dev(t, t.TempDir())
	version := map[string]string{"anthropic-version": "2023-06-01", "anthropic-beta": "files-api-2025-04-14"}
	a := s.sendFile(t, "", "a.pdf", aPDF, "anthropic-version", "2023-06-01", "anthropic-beta", "files-api-2025-04-14")
	if a.Status != http.StatusOK || !strings.Contains(a.Body, `"type":"file"`) || !strings.Contains(a.Body, `"mime_type":"application/pdf"`) || !strings.Contains(a.Body, `"downloadable":false`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	id := answeredID(t, a)
	if a := s.Do(Call{Method: http.MethodGet, Path: "/v1/files?limit=1&beta=true", Header: version}); !strings.Contains(a.Body, `"last_id":"`+id+`"`) || strings.Contains(a.Body, "object") {
		t.Errorf("list: %d %s", a.Status, a.Body)
	}
	if a := s.Do(Call{Method: http.MethodDelete, Path: "/v1/files/" + id, Header: version}); !strings.Contains(a.Body, `"type":"file_deleted"`) {
		t.Errorf("delete: %d %s", a.Status, a.Body)
	}
	if a := s.Do(Call{Method: http.MethodGet, Path: "/v1/files/" + id, Header: version}); a.Status != http.StatusNotFound || !strings.Contains(a.Body, `"type":"error"`) {
		t.Errorf("read: %d %s", a.Status, a.Body)
	}
}
