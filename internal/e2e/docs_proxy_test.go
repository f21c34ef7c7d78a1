package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDocsProxies runs the proxies of the page in front of a server, where they are installed: a stream arrives in pieces,
// and a body of several MiB passes.
func TestDocsProxies(t *testing.T) {
	if testing.Short() {
		t.Skip("runs servers")
	}
	t.Parallel()
	const page = "docs/how-to/put-behind-a-proxy.md"
	for name, start := range map[string]func(r *reader, text string) string{"nginx": startNginx, "caddyfile": startCaddy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findProxy(t, strings.TrimSuffix(name, "file")) // skips early
			for _, s := range snippets(page, readPage(t, page)) {
				if s.lang == name {
					r := newReader(t, page)
					checkProxy(r, start(r, strings.ReplaceAll(s.text, "127.0.0.1:8080", r.listen)))
					return
				}
			}
			t.Fatalf("the page has no snippet for %s", name)
		})
	}
}

// findProxy is the program of a proxy: that of the machine, or the one that scripts/setup unpacked.
func findProxy(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"", "bin/proxy/usr/sbin", "bin/proxy/usr/bin"} {
		program := name
		if dir != "" {
			program = filepath.Join(repository, dir, name)
		}
		if found, err := exec.LookPath(program); err == nil {
			if found, err = filepath.Abs(found); err == nil {
				return found
			}
		}
	}
	t.Skipf("%s is not installed; scripts/setup gets it", name)
	return ""
}

func startNginx(r *reader, text string) string {
	cert := hostileCertificate(r)
	address := FreeAddress(r)
	text = strings.NewReplacer("443 ssl", address+" ssl", "/etc/nginx/tls.crt", cert.certFile, "/etc/nginx/tls.key", cert.keyFile).Replace(text)
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += kind + "_temp_path " + filepath.Join(r.dir, kind) + ";\n"
	}
	r.write("nginx.conf", "daemon off; pid "+r.dir+"/nginx.pid; error_log stderr; events {}\nhttp {\naccess_log off;\n"+temp+text+"}\n", 0o600)
	r.startProxy("nginx", "-p", r.dir, "-c", filepath.Join(r.dir, "nginx.conf"), "-e", "stderr")
	return "https://" + address
}

func startCaddy(r *reader, text string) string {
	address := FreeAddress(r)
	// The host of the page has no certificate here, so the proxy serves plain HTTP.
	r.write("Caddyfile", "{\n\tadmin off\n}\n"+strings.Replace(text, "llm.example.com", "http://"+address, 1), 0o600)
	r.startProxy("caddy", "run", "--adapter", "caddyfile", "--config", filepath.Join(r.dir, "Caddyfile"))
	return "http://" + address
}

// startProxy runs a proxy until the end of the test.
func (r *reader) startProxy(name string, args ...string) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), findProxy(r, name), args...)
	cmd.Env, cmd.Dir = r.env, r.dir
	// SIGTERM ends the workers of a proxy too. They hold its output open.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = cmd.Wait() // the context of the test has ended it
		if r.Failed() {
			r.Log(out.String())
		}
	})
}

func checkProxy(r *reader, at string) {
	r.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	call := func(body string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, at+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+Key)
		return client.Do(req)
	}
	Await(r, "the proxy", func() error {
		resp, err := call(`{"model":"fast","messages":[{"role":"user","content":"` + strings.Repeat("long ", 1<<20) + `"}]}`)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("a body of 5 MiB: %s: %s", resp.Status, text)
		}
		return err
	})

	// Caddy 2.6.2 sometimes cuts a stream that begins within the first millisecond. No model is that fast.
	resp, err := call(`{"model":"fast","stream":true,"messages":[{"role":"user","content":"Hi [sim:tokens=100 latency=100ms]"}]}`)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	var first time.Time
	last := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if first.IsZero() && strings.HasPrefix(lines.Text(), "data:") {
			first = time.Now()
		}
		if lines.Text() != "" {
			last = lines.Text()
		}
	}
	if last != "data: [DONE]" {
		r.Fatalf("the stream ended with %q", last)
	}
	if took := time.Since(first); first.IsZero() || took < 200*time.Millisecond {
		r.Errorf("a stream of half a second arrived within %s", took)
	}
}
