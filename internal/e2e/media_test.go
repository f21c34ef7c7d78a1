package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// mediaBodies are bodies of every dialect that make an upstream fetch from a URL, with the path of the URL in them.
var mediaBodies = []struct{ path, body, param string }{
	{chatPath, `{"model":"fast","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"%s"}}]}]}`, "messages[0].content[0].image_url.url"},
	{chatPath, `{"model":"fast","messages":[{"role":"user","content":[{"type":"image_url","image_url":"%s"}]}]}`, "messages[0].content[0].image_url"},
	{chatPath, `{"model":"fast","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"video_url","video_url":{"url":"%s"}}]}]}`, "messages[0].content[1].video_url.url"},
	{chatPath, `{"model":"fast","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"%s"}}]}]}`, "messages[0].content[0].file.file_data"},
	{chatPath, `{"model":"fast","messages":[{"role":"user","content":[{"type":"new_kind","thing":{"deep":["%s"]}}]}]}`, "messages[0].content[0].thing.deep[0]"},
	{chatPath, `{"model":"fast","messages":[{"role":"tool","tool_call_id":"1","content":[{"type":"image_url","image_url":{"url":"%s"}}]}]}`, "messages[0].content[0].image_url.url"},
	{"/v1/responses", `{"model":"fast","input":[{"role":"user","content":[{"type":"input_image","image_url":"%s"}]}]}`, "input[0].content[0].image_url"},
	{"/v1/responses", `{"model":"fast","input":[{"role":"user","content":[{"type":"input_file","file_url":"%s"}]}]}`, "input[0].content[0].file_url"},
	{"/v1/responses", `{"model":"fast","input":[{"type":"computer_call_output","call_id":"1","output":{"type":"computer_screenshot","image_url":"%s"}}]}`, "input[0].output.image_url"},
	{"/v1/responses", `{"model":"fast","prompt":{"name":"pic","version":1,"variables":{"pic":"%s"}}}`, "input[0].content[0].image_url"},
	{chatPath, `{"model":"fast","prompt":{"name":"pic","version":1,"variables":{"pic":"%s"}}}`, "messages[0].content[0].image_url.url"},
	{"/v1/responses", `{"model":"fast","input":"x","tools":[{"type":"mcp","server_label":"a","server_url":"%s"}]}`, "tools[0].server_url"},
	{messagesPath, `{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"%s"}}]}]}`, "messages[0].content[0].source.url"},
	{messagesPath, `{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"%s"}}]}]}`, "messages[0].content[0].source.url"},
	{messagesPath, `{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"url","url":"%s"}}]}]}]}`,
		"messages[0].content[0].content[0].source.url"},
	{"/v1/embeddings", `{"model":"fast","input":[{"image":"%s"}]}`, "input[0].image"},
	{"/v1/embeddings", `{"model":"fast","modality":"image","input":["%s"]}`, "input[0]"},
	{chatPath, `{"model":"fast","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"%s"}}]}]}`, "messages[0].content[0].file.file_id"},
	{chatPath, `{"model":"fast","messages":[{"role":"user","content":"x","image":"%s"}]}`, "messages[0].image"},
	{chatPath, `{"model":"fast","messages":[{"role":"user","content":"x"}],"extra_body":{"images":["%s"]}}`, "extra_body.images[0]"},
}

// picturePrompt is a prompt whose variable is the URL of an image.
const picturePrompt = `{"kind":"chat","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"{{pic}}"}}]}]}`

// mediaSettings are the settings of a tenant, and what becomes of a body that names a host.
var mediaSettings = []struct {
	settings, network string
	allowed, refused  []string
}{
	{"", "private", nil, []string{"https://cdn.example.com/a.png", "http://169.254.169.254/latest", "http://10.0.0.1"}},
	{"", "public", []string{"https://cdn.example.com/a.png", "http://93.184.216.34/a"}, []string{"http://169.254.169.254/latest", "http://localhost/x", "http://vault.internal/x", "http://redis/x",
		"http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/", "http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/", "file:///etc/passwd", "ftp://cdn.example.com/a"}},
	{"media_hosts: [none]", "public", nil, []string{"https://cdn.example.com/a.png"}},
	{`media_hosts: [cdn.example.com, "*.img.example.org", 10.1.2.3]`, "private",
		[]string{"https://cdn.example.com/a.png", "HTTPS://CDN.Example.com.:8443/a", "https://a.b.img.example.org", "http://10.1.2.3/x", "http://[::ffff:10.1.2.3]/x"},
		[]string{"https://evil.com/cdn.example.com", "https://cdn.example.com@evil.com/", "https://evil.com#@cdn.example.com", "https://cdn.example.com.evil.com", "https://img.example.org",
			"https://evil.com?.img.example.org", `https://evil.com\\@cdn.example.com/`, `https://evil.com\\.img.example.org`, "https://cdn%2eexample.com", "https://cdn。example.com", "https://ｃdn.example.com",
			" https://evil.com", `https://cdn.example.com\tevil.com/`, "//cdn.example.com/a", "http:/cdn.example.com", "http://167838211/", "http://012.1.2.3/", "http://0x0a010203", "gopher://cdn.example.com"}},
	{"media_hosts: [any]", "private", []string{"http://10.0.0.1/x", "ftp://example.com/a"}, nil},
}

// TestMediaHosts holds that a body makes no upstream fetch from a host that its tenant may not name, in any dialect, as a call, a
// job or a line of a file, and that nothing of such a body reaches an upstream.
func TestMediaHosts(t *testing.T) {
	t.Parallel()
	for n, tt := range mediaSettings {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			u := startCareless(t)
			s := serveOne(t, fmt.Sprintf(`
providers: {up: {kind: openai, base_url: %[1]s/v1, network: %[2]s}, claude: {kind: anthropic, base_url: %[1]s/v1, network: %[2]s}}
targets: {small: {provider: up, upstream_model: cheap}, other: {provider: claude, upstream_model: cheap}}
models: {fast: {targets: [small, other]}}
`, u.URL, tt.network), tenantWith(strings.TrimPrefix(tt.settings+", weight: 1", ", ")))
			if a := s.Do(post("/v1/prompts/pic/versions", picturePrompt)); a.Status != http.StatusCreated {
				t.Fatalf("saving a prompt: %d %s", a.Status, a.Body)
			}
			for _, url := range tt.refused {
				for i, b := range mediaBodies {
					if b.path != chatPath && i%4 != len(url)%4 { // every dialect is asked about some, chats about all
						continue
					}
					text := fmt.Sprintf(b.body, url)
					if !strings.HasSuffix(b.param, "url") { // what may be an address is held to the policy if it begins like one
						if !strings.HasPrefix(strings.TrimSpace(url), "http") {
							continue
						}
					}
					a := s.Do(post(b.path, text))
					if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"param":"`+b.param+`"`) || !strings.Contains(a.Body, "media_hosts") {
						t.Errorf("%s: %d %s", text, a.Status, a.Body)
					}
				}
				text := fmt.Sprintf(mediaBodies[0].body, url)
				if a := s.Do(post("/v1/jobs", `{"model":"fast","input":`+text+`}`)); a.Status != http.StatusBadRequest {
					t.Errorf("as a job: %s: %d %s", text, a.Status, a.Body)
				}
			}
			if len(tt.refused) > 0 {
				text := fmt.Sprintf(mediaBodies[0].body, tt.refused[0])
				if n := attackByFile(t, s, fmt.Sprintf(`{"custom_id":"a","body":%s}`+"\n", text)); n == 0 {
					t.Errorf("as a line it is not refused")
				}
			}
			u.mu.Lock()
			if len(u.models) > 0 {
				t.Errorf("%d refused bodies reached the upstream", len(u.models))
			}
			u.mu.Unlock()
			for _, url := range append(tt.allowed, "data:image/png;base64,iVBORw0KGgo=") {
				if a := s.Do(post(chatPath, fmt.Sprintf(mediaBodies[0].body, url))); a.Status != http.StatusOK {
					t.Errorf("%s: %d %s", url, a.Status, a.Body)
				}
			}
		})
	}
}

// TestMediaHostsOfAdmin holds that an operator changes the hosts of a tenant while it runs.
func TestMediaHostsOfAdmin(t *testing.T) {
	t.Parallel()
	st := stage(t)
	at := st.operators()
	at.makeTenant(t, "search")
	k := at.makeKey(t, "search", "app")
	text := fmt.Sprintf(strings.Replace(mediaBodies[0].body, `"fast"`, `"sim"`, 1), "https://cdn.example.com/a.png")
	ask := func() int { return st.Do(k.as(post(chatPath, text))).Status }
	within := func(want int) {
		t.Helper()
		Await(t, fmt.Sprintf("status %d", want), func() error {
			if got := ask(); got != want {
				return fmt.Errorf("status %d", got)
			}
			return nil
		})
	}
	patch := func(body string, want int) {
		t.Helper()
		if a := at.Do(Call{Method: "PATCH", Path: "/admin/v1/tenants/search", Body: body}); a.Status != want {
			t.Fatalf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	within(http.StatusOK) // dev allows public hosts
	patch(`{"media_hosts":["none"]}`, http.StatusOK)
	within(http.StatusBadRequest)
	patch(`{"media_hosts":["*.example.com"]}`, http.StatusOK)
	within(http.StatusOK)
	patch(`{"media_hosts":["http://x"]}`, http.StatusBadRequest)
	patch(`{"media_hosts":["none","any"]}`, http.StatusBadRequest)
}
