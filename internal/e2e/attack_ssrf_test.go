package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// canary counts who connects to it: nobody may.
type canary struct {
	port string
	hits atomic.Int64
}

// listenCanary listens on one port of both loopback addresses.
func listenCanary(t *testing.T) *canary {
	t.Helper()
	c := &canary{}
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, c.port, _ = net.SplitHostPort(first.Addr().String())
	listeners := []net.Listener{first}
	if second, err := net.Listen("tcp", "[::1]:"+c.port); err == nil { // where there is IPv6
		listeners = append(listeners, second)
	}
	for _, l := range listeners {
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				c.hits.Add(1)
				conn.Close()
			}
		}()
	}
	return c
}

// inward are hosts that lead to this machine, its network or its cloud, each in a form that some library reads. They are
// refused when they are named.
var inward = []string{
	// This machine.
	"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.8.8.8", "2130706433", "0x7f000001", "0X7F000001", "017700000001", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1",
	"127.0.0.1.0x0", "00000177.1", "127.000.000.001", "127.0.0.01", "0", "0.0.0.0", "0.0.0.0.", "0.1.2.3", "localhost", "LOCALHOST", "localhost.", "a.localhost",
	"[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:0:127.0.0.1]",
	// Other forms of IPv4: NAT64, its local use, 6to4, Teredo, ISATAP.
	"[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[64:ff9b:1:a::1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001:0:7f00:1::]", "[fe80::5efe:127.0.0.1]",
	// Clouds' metadata.
	"169.254.169.254", "2852039166", "0xa9fea9fe", "169.254.43518", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16", "192.0.0.192", "169.254.170.2", "[fd20:ce::254]",
	// The network around it.
	"10.0.0.1", "10.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "169.254.1.1", "198.18.0.1", "[fd12:3456::1]", "[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%25lo]", "[fec0::1]",
	// Nobody's and everybody's.
	"255.255.255.255", "224.0.0.1", "239.255.255.250", "240.0.0.1", "[ff02::1]", "[ff05::2]", "192.0.2.1", "[2001:db8::1]", "[100::1]", "[4000::1]",
	// What IDNA maps to digits and dots.
	"１２７.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "localhost\u200b", "𝟏𝟐𝟕.𝟎.𝟎.𝟏", "[::１]",
}

// crooked are URLs that say one thing to a reader and another to a library. %s is the port of the canary.
var crooked = []string{
	"https://app.example@127.0.0.1:%s/", "https://127.0.0.1:%s@app.example/", "https://user:pass@app.example/", "https://app.example:443@[::1]:%s/", "https://@127.0.0.1:%s/",
	"https://app.example\\@127.0.0.1:%s/", "https:\\\\127.0.0.1:%s\\", "https:/\\127.0.0.1:%s", "https:///127.0.0.1:%s/", "https:127.0.0.1:%s", "//127.0.0.1:%s/", "127.0.0.1:%s",
	" https://127.0.0.1:%s/", "https://127.0.0.1:%s/\n", "https://127.0.0.1\t:%s/", "https://app.example\r\nHost: x:%s/", "https://127.0.0.1\x00.example:%s/", "https://app.example:%s/\u2028",
	"https://127.0.0.1%%20:%s/", "https://127.0.0.1%%2f@app.example:%s/", "https://%%31%%32%%37.0.0.1:%s/", "https://127%%2e0.0.1:%s/", "https://[::1:%s/", "https://[::1]]:%s/", "https://[127.0.0.1]:%s/", "https://[localhost]:%s/",
	"https://app.example:0/", "https://app.example:65536/", "https://app.example:%s%s/", "https://app.example:-1/", "https://app.example:/", "https://app.example:http/", "https://:%s/", "https://./", "https://..:%s/",
	"https://app..example:%s/", "https://.app.example:%s/", "https://-:%s#", "https://app.example/#frag", "http://app.example:%s/",
	"ftp://app.example:%s/", "file:///etc/passwd", "gopher://127.0.0.1:%s/_x", "data:text/plain,x", "javascript:alert(1)", "unix:///run/x.sock", "httpss://app.example/", "HTTP+UNIX://x/", "https", "", "https://",
}

// TestAttackURLs gives every form of an inward address to everything that takes a URL from a tenant: endpoints when they
// are made and changed, and the webhooks that jobs bring along. Each is refused with a typed error, and nothing connects.
func TestAttackURLs(t *testing.T) {
	t.Parallel()
	upstream, c := startSim(t), listenCanary(t)
	a := besiege(t, siege{settings: simModel(upstream)})
	made := a.Do(post("/v1/webhooks", `{"url":"https://app.example/hook"}`))
	id := idOf(made.Body)
	if made.Status != http.StatusCreated {
		t.Fatalf("a good URL: %d %s", made.Status, made.Body)
	}
	a.Do(post("/v1/webhooks/secret", ""))
	urls := []string{"https://" + strings.Repeat("a.", 200) + "example/", "https://" + strings.Repeat("a", 64) + ".example/", "https://app.example/" + strings.Repeat("x", 3000)}
	for _, host := range inward {
		urls = append(urls, "https://"+host+":"+c.port+"/", "http://"+host+":"+c.port+"/", "https://"+host+"/")
	}
	for _, form := range crooked {
		urls = append(urls, strings.ReplaceAll(strings.ReplaceAll(form, "%s", c.port), "%%", "%"))
	}
	for _, u := range urls {
		text := quoted(u)
		for where, call := range map[string]Call{
			"POST /v1/webhooks":  post("/v1/webhooks", `{"url":`+text+`}`),
			"PATCH /v1/webhooks": {Method: http.MethodPatch, Path: "/v1/webhooks/" + id, Body: `{"url":` + text + `}`},
			"POST /v1/jobs":      post("/v1/jobs", `{"model":"fast","input":"Hi","webhook":{"url":`+text+`}}`),
		} {
			if answer := a.ask(call, patience); answer.Status != http.StatusBadRequest || !strings.Contains(answer.Body, `url"`) || strings.Contains(answer.Body, "goroutine") {
				t.Errorf("%s with %q answers %d %s", where, u, answer.Status, answer.Body)
			}
		}
	}
	for _, u := range []string{"https://app.example", "https://APP.example.:8443/a?b=c", "https://xn--bcher-kva.example/hook", "https://93.184.216.34/hook", "https://[2606:2800:220:1::1]:443/", "https://a_b.0example.com/", "https://1.example/x%20y"} {
		if answer := a.Do(Call{Method: http.MethodPatch, Path: "/v1/webhooks/" + id, Body: `{"url":` + quoted(u) + `}`}); answer.Status != http.StatusOK {
			t.Errorf("a good URL %q: %d %s", u, answer.Status, answer.Body)
		}
	}
	if n := c.hits.Load(); n > 0 {
		t.Errorf("%d connections were made to this machine", n)
	}
	t.Logf("%d URLs", len(urls))
}

// simModel is a model over a simulated upstream.
func simModel(upstream string) string {
	return fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1, api_key: "${E2E_UPSTREAM}"}}
targets: {sim: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}}
models: {fast: {targets: [sim]}}
webhooks: {timeout: 3s}
`, upstream)
}

// quoted is a JSON string with every byte of the text in it.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		if r < ' ' || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// TestAttackRedirects has a receiver that may be called lead the caller elsewhere: to the canary, to another scheme, in
// circles. Nothing is followed, nothing connects, and the delivery says so.
func TestAttackRedirects(t *testing.T) {
	t.Parallel()
	upstream, c := startSim(t), listenCanary(t)
	var mu sync.Mutex
	calls := map[string]int{}
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls[r.URL.Path]++
		mu.Unlock()
		to := map[string]string{
			"/private": "http://127.0.0.1:" + c.port + "/", "/six": "http://[::1]:" + c.port + "/", "/decimal": "http://2130706433:" + c.port + "/",
			"/metadata": "http://169.254.169.254/latest/meta-data/", "/scheme": "file:///etc/passwd", "/gopher": "gopher://127.0.0.1:" + c.port + "/x",
			"/circle": "/circle", "/relative": "//127.0.0.1:" + c.port + "/",
		}[r.URL.Path]
		w.Header().Set("Location", to)
		w.Header().Set("Refresh", "0; url="+to)
		w.WriteHeader([]int{301, 302, 303, 307, 308}[len(r.URL.Path)%5])
	}))
	l, err := net.Listen("tcp", "127.0.0.3:0")
	if err != nil {
		t.Skip("this machine has one loopback address only")
	}
	receiver.Listener.Close()
	receiver.Listener = l
	receiver.Start()
	t.Cleanup(receiver.Close)
	b := besiege(t, siege{settings: strings.Replace(simModel(upstream), "webhooks: {", "webhooks: {allow: [127.0.0.3/32], ", 1)})
	paths := []string{"/private", "/six", "/decimal", "/metadata", "/scheme", "/gopher", "/circle", "/relative"}
	var ids []string
	for _, path := range paths {
		made := b.Do(post("/v1/webhooks", `{"url":"`+receiver.URL+path+`"}`))
		if made.Status != http.StatusCreated {
			t.Fatalf("a receiver that is allowed: %d %s", made.Status, made.Body)
		}
		ids = append(ids, idOf(made.Body))
		b.Do(post("/v1/webhooks/"+idOf(made.Body)+"/test", ""))
	}
	for _, path := range paths {
		Await(t, "the delivery to "+path, func() error {
			mu.Lock()
			defer mu.Unlock()
			if calls[path] == 0 {
				return fmt.Errorf("called %v", calls)
			}
			return nil
		})
	}
	Await(t, "the deliveries to be told", func() error {
		for _, id := range ids {
			if log := b.Do(get("/v1/webhooks/" + id + "/deliveries")).Body; !strings.Contains(log, "redirects are not followed") {
				return fmt.Errorf("it does not say why it failed: %s", log)
			}
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	for path, n := range calls {
		if n > 3 { // it may be tried again by now
			t.Errorf("%s was called %d times", path, n)
		}
	}
	if n := c.hits.Load(); n > 0 {
		t.Errorf("%d connections were made to this machine", n)
	}
}
