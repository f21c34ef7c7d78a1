package e2e

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// framing is a caller who speaks HTTP by hand.
type framing struct {
	name string
	// sent is all that goes over one connection. {smuggled} is a request that makes a job for the stranger's tenant: if it
	// is ever served, the marker shows.
	sent string
}

// smuggled is the request that must not be served: it asks with another tenant's key, so that what it makes is found.
func smuggled(host string) string {
	const body = `{"model":"fast","input":"smuggled"}`
	return fmt.Sprintf("POST /v1/jobs HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", host, strangerKey, len(body), body)
}

const framedKey = "Authorization: Bearer " + Key + "\r\n"

// framings are requests whose length can be read in two ways, or not at all.
func framings() []framing {
	line := func(method, path string) string {
		return method + " " + path + " HTTP/1.1\r\nHost: {host}\r\n" + framedKey
	}
	body := line("POST", chatPath)
	all := []framing{
		// Two lengths.
		{"CL and TE, chunks first", body + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"},
		{"TE and CL", body + "Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n\r\n0\r\n\r\n{smuggled}"},
		{"two lengths", body + "Content-Length: 0\r\nContent-Length: {length}\r\n\r\n{smuggled}"},
		{"two equal lengths", body + "Content-Length: {length}\r\nContent-Length: {length}\r\n\r\n{smuggled}"},
		{"a list of lengths", body + "Content-Length: 0, {length}\r\n\r\n{smuggled}"},
		{"length on GET", line("GET", "/v1/jobs") + "Content-Length: {length}\r\n\r\n{smuggled}"},
		{"length on HEAD", line("HEAD", "/v1/jobs") + "Content-Length: {length}\r\n\r\n{smuggled}"},
		{"length on DELETE", line("DELETE", "/v1/jobs/x") + "Content-Length: {length}\r\n\r\n{smuggled}"},
		{"chunks on GET", line("GET", "/v1/jobs") + "Transfer-Encoding: chunked\r\n\r\n{hexlength}\r\n{smuggled}\r\n0\r\n\r\n"},
	}
	for _, length := range []string{"+{length}", "-1", "-0", "0x{hexlength}", "{length}.0", "1e3", "{length} ", " {length}", "\t{length}", "{length}a", "{length},", "'{length}'", "٣", "18446744073709551616", "99999999999999999999999", "\x00{length}", "{length}\x0b", "_1", ""} {
		all = append(all, framing{fmt.Sprintf("length %q", length), body + "Content-Length:" + length + "\r\n\r\n{smuggled}"})
	}
	for _, encoding := range []string{"chunked, identity", "identity, chunked", "identity", "xchunked", "chunkedx", " chunked", "\tchunked", "chunked ", "chunked\t", "CHUNKED", "Chunked", "chunked, chunked", "chunked,", ",chunked", "gzip, chunked", "\"chunked\"", "chunked;q=1", "chunked\x0b", "\x0bchunked", "chunked\x00", "chun\rked", "", "chunKed"} {
		all = append(all,
			framing{fmt.Sprintf("encoding %q", encoding), body + "Transfer-Encoding:" + encoding + "\r\n\r\n0\r\n\r\n{smuggled}"},
			framing{fmt.Sprintf("encoding %q and a length", encoding), body + "Content-Length: {length5}\r\nTransfer-Encoding: " + encoding + "\r\n\r\n0\r\n\r\n{smuggled}"})
	}
	all = append(all,
		framing{"encoding twice", body + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{smuggled}"},
		framing{"encoding in HTTP/1.0", strings.Replace(body, "HTTP/1.1", "HTTP/1.0", 1) + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{smuggled}"},
		framing{"encoding folded", body + "Transfer-Encoding:\r\n chunked\r\nContent-Length: {length5}\r\n\r\n0\r\n\r\n{smuggled}"},
		framing{"encoding with underscore", body + "Transfer_Encoding: chunked\r\nContent-Length: {length5}\r\n\r\n0\r\n\r\n{smuggled}"},
	)
	return append(all, headFramings()...)
}

// headFramings are heads that servers read differently.
func headFramings() (all []framing) {
	body := "POST " + chatPath + " HTTP/1.1\r\nHost: {host}\r\n" + framedKey
	for name, lines := range map[string]string{
		"space before the colon": "Content-Length : {length}\r\n", "HT before the colon": "Content-Length\t: {length}\r\n", "no colon": "Content-Length {length}\r\n",
		"NUL in a name": "Content-Length\x00: {length}\r\n", "NUL in a value": "X-A: b\x00c\r\nContent-Length: {length}\r\n", "a bare CR": "X-A: b\rContent-Length: 0\r\nContent-Length: {length}\r\n",
		"a folded line": "X-A: b\r\n Content-Length: 0\r\nContent-Length: {length}\r\n", "a leading space": " Content-Length: 0\r\nContent-Length: {length}\r\n",
		"an empty name": ": x\r\nContent-Length: {length}\r\n", "a name in UTF-8": "Contént-Length: 0\r\nContent-Length: {length}\r\n", "a value that is no text": "X-A: \xff\xfe\r\nContent-Length: {length}\r\n",
		"Connection hides the length": "Connection: Content-Length\r\nContent-Length: {length}\r\n", "Expect": "Expect: 200-ok\r\nContent-Length: {length}\r\n",
		"an upgrade": "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: {length}\r\n", "a websocket": "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: {length}\r\n",
		"a method to override": "X-HTTP-Method-Override: DELETE\r\nContent-Length: {length}\r\n", "a URL to override": "X-Original-URL: /admin/v1/keys\r\nX-Rewrite-URL: /admin/v1/keys\r\nContent-Length: {length}\r\n",
	} {
		all = append(all, framing{name, body + lines + "\r\n{smuggled}"})
	}
	all = append(all,
		framing{"bare LF", strings.ReplaceAll(body, "\r\n", "\n") + "Content-Length: {length}\n\n{smuggled}"},
		framing{"bare LF before the body", body + "Content-Length: {length}\r\n\n{smuggled}"},
		framing{"no Host", "GET /v1/jobs HTTP/1.1\r\n" + framedKey + "\r\n"},
		framing{"two Hosts", "GET /v1/jobs HTTP/1.1\r\nHost: a\r\nHost: b\r\n" + framedKey + "\r\n"},
		framing{"a bad Host", "GET /v1/jobs HTTP/1.1\r\nHost: a b/@\r\n" + framedKey + "\r\n"},
		framing{"absolute form", "GET http://evil.example/v1/jobs HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"authority form", "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n{smuggled}"},
		framing{"asterisk form", "OPTIONS * HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"HTTP/0.9", "GET /v1/jobs\r\n"},
		framing{"HTTP/1.2", "GET /v1/jobs HTTP/1.2\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"HTTP/2.0", "GET /v1/jobs HTTP/2.0\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
		framing{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
		framing{"spaces in the line", "GET  /v1/jobs  HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"an invalid method", "GE T /v1/jobs HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"a path with CR", "GET /v1/jobs\r HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"a path that climbs", "GET /v1/../../admin/v1/keys HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"a path in escapes", "GET /v1/jobs/%2e%2e/%2e%2e/metrics HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"a path with NUL", "GET /v1/jobs/%00 HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"a bad escape", "GET /v1/jobs/%zz HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "\r\n"},
		framing{"two keys", "GET /v1/jobs HTTP/1.1\r\nHost: {host}\r\n" + framedKey + "Authorization: Bearer {stranger}\r\n\r\n"},
		framing{"headers of a megabyte", "GET /v1/jobs HTTP/1.1\r\nHost: {host}\r\nX-A: " + strings.Repeat("a", 1<<20) + "\r\n\r\n"},
		framing{"10,000 headers", "GET /v1/jobs HTTP/1.1\r\nHost: {host}\r\n" + strings.Repeat("X-A: b\r\n", 10_000) + "\r\n"},
		framing{"a path of a megabyte", "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: {host}\r\n\r\n"},
	)
	chunkedBody := body + "Transfer-Encoding: chunked\r\n"
	for name, chunks := range map[string]string{
		"a size that overflows": "10000000000000000\r\n{smuggled}", "a size of 2^63": "8000000000000000\r\n{smuggled}", "a negative size": "-1\r\n{smuggled}", "a size with 0x": "0x5\r\n12345\r\n0\r\n\r\n{smuggled}",
		"a size with a plus": "+5\r\n12345\r\n0\r\n\r\n{smuggled}", "a size with spaces": "5 5\r\n12345\r\n0\r\n\r\n{smuggled}", "a size with an underscore": "1_0\r\n{smuggled}", "no size": "\r\n{smuggled}",
		"an extension with LF": "5;a\nb\r\n12345\r\n0\r\n\r\n{smuggled}", "an extension with CR": "5;a\rb\r\n12345\r\n0\r\n\r\n{smuggled}", "an extension that is long": "5;" + strings.Repeat("a", 1<<20) + "\r\n12345\r\n0\r\n\r\n{smuggled}",
		"sizes ended by LF": "5\n12345\n0\n\n{smuggled}", "no end of a chunk": "5\r\n123450\r\n\r\n{smuggled}", "data longer than the size": "2\r\n12345\r\n0\r\n\r\n{smuggled}",
	} {
		all = append(all, framing{"chunks: " + name, chunkedBody + "\r\n" + chunks})
	}
	return all
}

// sendRaw sends bytes and reads answers until the connection is closed or silent. It returns their status codes.
func sendRaw(t *testing.T, address, text string) (statuses []int, everything string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	var all sync.WaitGroup
	all.Go(func() { _, _ = io.WriteString(conn, text) }) // the server may have closed already
	defer all.Wait()
	answer := readUntilSilent(conn)
	for _, m := range regexp.MustCompile(`(?m)^HTTP/1\.[01] (\d{3})`).FindAllStringSubmatch(answer, -1) {
		var status int
		fmt.Sscan(m[1], &status)
		statuses = append(statuses, status)
	}
	return statuses, answer
}

// silence is how long a connection says nothing before it is taken to have said all.
const silence = time.Second

// readUntilSilent reads what a server says. One that says nothing is told that no more will come: until then it may wait
// for the rest of a body.
func readUntilSilent(conn net.Conn) string {
	var all strings.Builder
	buffer := make([]byte, 64<<10)
	for told := false; all.Len() < 1<<20; {
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		n, err := conn.Read(buffer)
		all.Write(buffer[:n])
		if err == nil {
			continue
		}
		timeout, ok := err.(net.Error)
		if !ok || !timeout.Timeout() || all.Len() > 0 || told {
			break
		}
		told = true
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	return all.String()
}

// TestAttackFraming sends requests that servers and proxies read differently to both of our listeners. None is read as two,
// none hides another, none is answered by anything but an error or the answer to what it says; the one after it is served.
func TestAttackFraming(t *testing.T) {
	t.Parallel()
	a := besiege(t, siege{settings: simModel(startSim(t))})
	address := strings.TrimPrefix(a.URL, "http://")
	fill := func(text, host string) string {
		inner := smuggled(host)
		return strings.NewReplacer("{host}", host, "{smuggled}", inner, "{length}", fmt.Sprint(len(inner)), "{length5}", fmt.Sprint(len(inner)+5),
			"{hexlength}", fmt.Sprintf("%x", len(inner)), "{stranger}", strangerKey).Replace(text)
	}
	// A request that is sent twice in good order is two: the marker would show.
	good := fill("GET /v1/jobs HTTP/1.1\r\nHost: {host}\r\n"+framedKey+"\r\n{smuggled}", address)
	if statuses, all := sendRaw(t, address, good); len(statuses) != 2 || statuses[1] != http.StatusAccepted {
		t.Fatalf("two requests in a row are answered %v: %s", statuses, all)
	}
	if n := a.marked(); n != 1 {
		t.Fatalf("%d jobs of the stranger after a request that is in order: the marker does not work", n)
	}
	admin := strings.TrimPrefix(a.admin.URL, "http://")
	places := make(chan struct{}, 64)
	var all sync.WaitGroup
	for _, f := range framings() {
		for _, to := range []string{address, admin} {
			places <- struct{}{}
			all.Go(func() {
				defer func() { <-places }()
				statuses, said := sendRaw(t, to, fill(f.sent, to))
				a.hear(Answer{Body: said})
				for _, status := range statuses {
					if status == http.StatusAccepted || status == http.StatusInternalServerError {
						t.Errorf("%s: answered %v: %.500s", f.name, statuses, said)
					}
				}
				if len(statuses) > 1 {
					t.Errorf("%s: answered %v: %.500s", f.name, statuses, said)
				}
			})
		}
	}
	all.Wait()
	if n := a.marked() - 1; n != 0 {
		t.Errorf("%d smuggled requests were served", n)
	}
	if answer := a.Do(post(chatPath, `{"model":"fast",`+ask("Hi")[1:])); answer.Status != http.StatusOK {
		t.Errorf("a call after all: %d %s", answer.Status, answer.Body)
	}
}

// marked is how many jobs the stranger has: one for each smuggled request that was served.
func (a *attacked) marked() int {
	a.t.Helper()
	return strings.Count(a.Do(stranger(get("/v1/jobs?limit=100"))).Body, `"object":"job"`)
}

// TestAttackTrailers sends credentials in trailers: nobody becomes anybody by them.
func TestAttackTrailers(t *testing.T) {
	t.Parallel()
	a := besiege(t, siege{settings: simModel(startSim(t))})
	address := strings.TrimPrefix(a.URL, "http://")
	body := `{"model":"fast","input":"by trailer"}`
	for _, trailer := range []string{"Authorization: Bearer " + strangerKey, "X-Api-Key: " + strangerKey} {
		text := "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: " + strings.Split(trailer, ":")[0] + "\r\n{key}\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n0\r\n%s\r\nContent-Length: 5\r\nHost: evil\r\n\r\n", len(body), body, trailer)
		for key, want := range map[string]int{"": http.StatusUnauthorized, framedKey: http.StatusAccepted} {
			statuses, said := sendRaw(t, address, strings.Replace(text, "{key}", key, 1))
			if len(statuses) != 1 || statuses[0] != want && statuses[0] != http.StatusBadRequest {
				t.Errorf("%s, key %t: %v %s", trailer, key != "", statuses, said)
			}
		}
	}
	if n := a.marked(); n > 0 {
		t.Errorf("%d jobs were made with a key in a trailer", n)
	}
}

// TestAttackSlowCallers opens connections that send their head or body so slowly that they never end. They take no more
// than a little memory each, others are served meanwhile, and the ones without a head are closed.
func TestAttackSlowCallers(t *testing.T) {
	t.Parallel()
	a := besiege(t, siege{settings: simModel(startSim(t))})
	address := strings.TrimPrefix(a.URL, "http://")
	const slow = 200
	heads := []string{"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX-A: ", "", "G", "POST " + chatPath + " HTTP/1.1\r\nHost: x\r\n" + framedKey + "Content-Length: 1000000\r\n"}
	conns := make([]net.Conn, slow)
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", address); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
		_, _ = io.WriteString(conns[i], heads[i%len(heads)])
	}
	for range 20 {
		if answer := a.ask(post(chatPath, `{"model":"fast",`+ask("Hi")[1:]), patience); answer.Status != http.StatusOK {
			t.Errorf("a call beside %d slow ones: %d %s", slow, answer.Status, answer.Body)
		}
	}
	if testing.Short() {
		return
	}
	for i, conn := range conns {
		if i%len(heads) == 1 {
			continue // an idle connection is kept for two minutes
		}
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := bufio.NewReader(conn).ReadByte(); err != nil && err != io.EOF {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				t.Fatalf("a connection whose head %q does not end is kept for longer than %v", heads[i%len(heads)], patience)
			}
		}
	}
}

// TestAttackRandomRequests mutates good requests at random bytes, for a moment, or as long as PENSTOCK_SOAK_ATTACK says.
// No answer is a failure of ours, nothing is smuggled, and good calls go on.
func TestAttackRandomRequests(t *testing.T) {
	t.Parallel()
	a := besiege(t, siege{settings: simModel(startSim(t))})
	address := strings.TrimPrefix(a.URL, "http://")
	seed := seedOf(t)
	stop := a.victim(t.Context(), post(chatPath, `{"model":"fast",`+ask("Hi")[1:]))
	ended := time.Now().Add(soakAttack(t, 3*time.Second))
	var all sync.WaitGroup
	for who := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(who)))
			for time.Now().Before(ended) {
				text := mutated(random, requestsOf(address))
				if statuses, said := sendRaw(t, address, text); len(statuses) > 0 && statuses[0] == http.StatusInternalServerError {
					t.Errorf("%q is answered %.500s", text, said)
				}
			}
		})
	}
	all.Wait()
	stop()
	if n := a.marked(); n > 0 {
		t.Errorf("%d smuggled requests were served", n)
	}
}

// requestsOf are good requests to begin with.
func requestsOf(host string) []string {
	body := `{"model":"fast","max_tokens":9,"stream":false,"messages":[{"role":"user","content":"Hi \ud83d\ude00"}]}`
	head := "Host: " + host + "\r\n" + framedKey
	var all []string
	for _, path := range []string{chatPath, "/v1/messages", "/v1/responses", "/v1/completions", "/v1/embeddings", "/v1/rerank", "/v1/jobs", "/v1/webhooks", "/v1/batches"} {
		all = append(all, fmt.Sprintf("POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", path, head, len(body), body),
			fmt.Sprintf("POST %s HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n%s", path, head, chunked(body)))
	}
	return append(all, "GET /v1/jobs?limit=3&after=job_01 HTTP/1.1\r\n"+head+"\r\n", "GET /v1/usage?group_by=model HTTP/1.1\r\n"+head+"\r\n")
}

// mutated changes a few places of one of the texts.
func mutated(random *rand.Rand, texts []string) string {
	b := []byte(texts[random.IntN(len(texts))])
	pieces := []string{"\r\n", "\n", "\r", "\x00", " ", ":", "chunked", "0", "-1", "99999999999999999999", `"`, "{", "[[[[[[[[", `\ud800`, "\xff", "%00", "\t", ",", "1e999", "Content-Length: 0\r\n"}
	for range 1 + random.IntN(4) {
		at := random.IntN(len(b))
		switch random.IntN(4) {
		case 0:
			b[at] = byte(random.IntN(256))
		case 1:
			b = append(b[:at], b[min(len(b), at+1+random.IntN(8)):]...)
		case 2:
			b = append(b[:at], append([]byte(pieces[random.IntN(len(pieces))]), b[at:]...)...)
		default:
			n := min(len(b)-at, 1+random.IntN(32))
			b = append(b[:at], append([]byte(string(b[at:at+n])), b[at:]...)...)
		}
		if len(b) == 0 {
			return "\r\n"
		}
	}
	return string(b)
}
