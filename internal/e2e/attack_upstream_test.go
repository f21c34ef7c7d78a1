package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// verdict is what callers of a hostile upstream may get.
type verdict int

const (
	fails   verdict = iota // a typed error
	answers                // the good answer
	either
	unended // a typed error, or for a stream the good answer: its own end came before the trouble
)

// upstreamAttack is one way in which an upstream misbehaves.
type upstreamAttack struct {
	play  func(*hostileConn)
	want  verdict
	heavy bool // it sends much: one at a time
}

// raw is an attack that sends bytes and closes the connection.
func raw(text string) upstreamAttack {
	return upstreamAttack{play: func(c *hostileConn) { c.say(text); c.Close() }}
}

// framed is an attack on the framing: a good answer's body behind these header lines. %d stands for its length.
func framed(headers string, want verdict) upstreamAttack {
	return upstreamAttack{want: want, play: func(c *hostileConn) {
		text, _ := c.body()
		c.say(c.head(strings.ReplaceAll(headers, "%d", fmt.Sprint(len(text)))) + text)
		c.Close()
	}}
}

// inChunks is an attack on the chunks of a body.
func inChunks(body string, want verdict) upstreamAttack {
	return upstreamAttack{want: want, play: func(c *hostileConn) {
		text, _ := c.body()
		c.say(c.head("Transfer-Encoding: chunked\r\n") + strings.NewReplacer("%x", fmt.Sprintf("%x", len(text)), "%s", text).Replace(body))
		c.Close()
	}}
}

// plainBody is an attack in a body of JSON, whatever was asked for.
func plainBody(status, body string, want verdict) upstreamAttack {
	return upstreamAttack{want: want, play: func(c *hostileConn) {
		c.say(fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body))
		c.Close()
	}}
}

// eventsOf is an attack in a stream of events, whatever was asked for.
func eventsOf(body string, want verdict) upstreamAttack {
	return upstreamAttack{want: want, play: func(c *hostileConn) {
		c.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + body)
		c.Close()
	}}
}

func endless(head func(*hostileConn) string, text string) upstreamAttack {
	return upstreamAttack{play: func(c *hostileConn) {
		if c.say(head(c)) {
			c.forever(text)
		}
	}}
}

func heavy(a upstreamAttack) upstreamAttack {
	a.heavy = true
	return a
}

func withHead(headers string) func(*hostileConn) string {
	return func(c *hostileConn) string { return c.head(headers) }
}

func nothing(*hostileConn) string { return "" }

// packed is a body that unfolds to much more than it is.
func packed(t testing.TB) (gzipped, zstandard string) {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for range 64 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), string(z.EncodeAll(make([]byte, 64<<20), nil))
}

// headAttacks are those before the body.
func headAttacks(canary string) map[string]upstreamAttack {
	const status = "HTTP/1.1 200 OK\r\n"
	good := func(headers string, want verdict) upstreamAttack {
		return upstreamAttack{want: want, play: func(c *hostileConn) { c.say(c.answer(headers)) }}
	}
	all := map[string]upstreamAttack{
		"header-huge":        good("X-Huge: "+strings.Repeat("a", 1<<20)+"\r\n", fails),
		"header-many":        good(strings.Repeat("X-Many: a\r\n", 20_000), fails),
		"header-distinct":    {play: func(c *hostileConn) { c.say(c.answer(distinctHeaders(20_000))) }},
		"header-endless":     endless(nothing, status+"X-End: less\r\n"),
		"header-long":        endless(func(*hostileConn) string { return status + "X-Long: " }, "a"),
		"status-endless":     endless(func(*hostileConn) string { return "HTTP/1.1 200 " }, "O"),
		"interim-endless":    endless(nothing, "HTTP/1.1 100 Continue\r\n\r\n"),
		"interim-hints":      endless(nothing, "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"),
		"interim-processing": endless(nothing, "HTTP/1.1 102 Processing\r\n\r\n"),
		"interim-few": {want: answers, play: func(c *hostileConn) {
			c.say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + c.answer(""))
		}},
		"upgrade":           raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + goodAnswer),
		"nothing":           raw(""),
		"garbage":           raw("\x00\x01\x02\xff\xfe garbage \r\n\r\n"),
		"http09":            raw(goodAnswer),
		"http2-preface":     raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		"http3-version":     raw("HTTP/3.0 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
		"tls-record":        raw("\x15\x03\x01\x00\x02\x02\x28"),
		"reset":             {play: func(c *hostileConn) { c.reset() }},
		"hang":              {play: func(c *hostileConn) { c.hang() }},
		"drip-head":         {play: func(c *hostileConn) { c.drip(status + "X-Slow: yes\r\n") }},
		"header-fold":       good("X-Fold: a\r\n b\r\n\tSet-Cookie: x=1\r\n", either),
		"header-bare-lf":    {want: either, play: func(c *hostileConn) { c.say(strings.ReplaceAll(c.answer("X-Lf: a\r\n"), "\r\n", "\n")) }},
		"header-cr":         good("X-Cr: a\rX-Injected: b\r\n", either),
		"header-nul":        good("X-Nul: a\x00b\r\n", either),
		"header-name-space": good("X Injected : b\r\n", either),
		"header-no-colon":   good("X-Injected\r\n", fails),
		"header-empty-name": good(": b\r\n", either),
		"header-utf8":       good("X-Utf8: \xff\xfe\r\n", either),
		"header-leading":    {want: either, play: func(c *hostileConn) { c.say(strings.Replace(c.answer(""), "\r\n", "\r\n X-Injected: a\r\n", 1)) }},
		"header-hostile": good("Set-Cookie: session=stolen\r\nLocation: http://evil.example\r\nX-Request-Id: forged\r\nX-Penstock-Cost-Usd: 0\r\nX-Penstock-Target: forged\r\n"+
			"Access-Control-Allow-Origin: *\r\nRefresh: 0\r\nContent-Disposition: attachment\r\nX-Injected: yes\r\nRetry-After: 99999\r\nConnection: X-Injected\r\n", answers),
	}
	for name, contentType := range map[string]string{
		"html": "text/html; charset=utf-7", "script": "application/javascript", "svg": "image/svg+xml", "none": "", "two": "application/json\r\nContent-Type: text/html", "long": "text/html" + strings.Repeat(";a=b", 1000),
	} {
		all["type-"+name] = upstreamAttack{want: either, play: func(c *hostileConn) {
			text, _ := c.body()
			c.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(text), text))
		}}
	}
	for _, code := range []string{"0", "99", "199", "000", "999", "1000", "-200", "200.5", "abc", "", "20", "２００"} {
		all["status-"+code] = raw("HTTP/1.1 " + code + " OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	}
	for _, code := range []int{204, 205, 206, 300, 304, 305, 402, 407, 411, 417, 418, 421, 425, 429, 431, 451, 500, 501, 505, 511, 529, 599} {
		all[fmt.Sprintf("empty-%d", code)] = raw(fmt.Sprintf("HTTP/1.1 %d Whatever\r\nContent-Length: 0\r\nRetry-After: 18446744073709551616\r\n\r\n", code))
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		all[fmt.Sprintf("redirect-%d", code)] = raw(fmt.Sprintf("HTTP/1.1 %d Elsewhere\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", code, canary))
	}
	return all
}

func distinctHeaders(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X-%d: a\r\n", i)
	}
	return b.String()
}

// lengthAttacks are those on the framing of the body.
func lengthAttacks() map[string]upstreamAttack {
	all := map[string]upstreamAttack{
		"length-missing":        framed("", answers),
		"length-too-long":       framed("Content-Length: 1%d\r\n", unended),
		"length-too-short":      framed("Content-Length: 9\r\n", fails),
		"length-zero":           framed("Content-Length: 0\r\n", fails),
		"length-twice":          framed("Content-Length: %d\r\nContent-Length: 9\r\n", fails),
		"length-twice-equal":    framed("Content-Length: %d\r\nContent-Length: %d\r\n", either),
		"length-list":           framed("Content-Length: %d, %d\r\n", either),
		"length-negative":       framed("Content-Length: -1\r\n", fails),
		"length-plus":           framed("Content-Length: +%d\r\n", fails),
		"length-hex":            framed("Content-Length: 0x%d\r\n", fails),
		"length-huge":           framed("Content-Length: 99999999999999999999\r\n", fails),
		"length-terabyte":       framed("Content-Length: 1099511627776\r\n", unended),
		"length-max":            framed("Content-Length: 9223372036854775807\r\n", unended),
		"length-spaces":         framed("Content-Length: 1 2\r\n", fails),
		"length-and-chunks":     framed("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", fails),
		"encoding-unknown":      framed("Transfer-Encoding: xchunked\r\n", fails),
		"encoding-twice":        framed("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", fails),
		"encoding-gzip-chunked": framed("Transfer-Encoding: gzip, chunked\r\n", fails),
		"encoding-identity":     framed("Transfer-Encoding: chunked, identity\r\n", fails),
		"chunk-good":            inChunks("%x\r\n%s\r\n0\r\n\r\n", answers),
		"chunk-extension":       inChunks("%x;a=b;c\r\n%s\r\n0\r\n\r\n", either),
		"chunk-huge":            inChunks("ffffffffffffffff\r\n%s", unended),
		"chunk-overflow":        inChunks("fffffffffffffffffffff\r\n%s", fails),
		"chunk-negative":        inChunks("-5\r\n%s\r\n0\r\n\r\n", fails),
		"chunk-not-hex":         inChunks("zz\r\n%s\r\n0\r\n\r\n", fails),
		"chunk-0x":              inChunks("0x%x\r\n%s\r\n0\r\n\r\n", fails),
		"chunk-unended":         inChunks("%x\r\n%s", unended),
		"chunk-no-crlf":         inChunks("%x\r\n%s0\r\n\r\n", unended),
		"chunk-short":           inChunks("5\r\n%s\r\n0\r\n\r\n", fails),
		"chunk-size-endless":    endless(withHead("Transfer-Encoding: chunked\r\n"), "0"),
		"chunk-ext-endless":     endless(withHead("Transfer-Encoding: chunked\r\n"), "1;"),
		"chunk-tiny-endless":    heavy(endless(withHead("Transfer-Encoding: chunked\r\n"), "1\r\n \r\n")),
		"trailer-good":          inChunks("%x\r\n%s\r\n0\r\nX-Injected: a\r\nSet-Cookie: b=c\r\n\r\n", answers),
		"trailer-framing":       inChunks("%x\r\n%s\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", either),
		"trailer-endless": {want: either, play: func(c *hostileConn) {
			text, _ := c.body()
			c.say(c.head("Transfer-Encoding: chunked\r\n") + fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(text), text))
			c.forever("X-Trailer: a\r\n")
		}},
		"body-endless":     heavy(endless(withHead(""), "aaaaaaaa")),
		"body-spaces":      heavy(endless(withHead(""), "        ")),
		"body-drip":        {play: func(c *hostileConn) { c.say(c.head("")); c.drip(" ") }},
		"body-never":       {play: func(c *hostileConn) { c.say(c.head("Content-Length: 100\r\n")); c.hang() }},
		"body-before-read": {want: either, play: func(c *hostileConn) { c.say(c.answer("Connection: close\r\n")); c.reset() }},
	}
	for at := range 12 {
		all[fmt.Sprintf("cut-%d", at)] = upstreamAttack{want: fails, play: func(c *hostileConn) {
			whole := c.answer("")
			c.say(whole[:len(whole)*at/12])
			c.Close()
		}}
	}
	return all
}

// bodyAttacks are those inside a body whose framing is right.
func bodyAttacks(t testing.TB) map[string]upstreamAttack {
	zipped, zstandard := packed(t)
	coded := func(encoding, body string) upstreamAttack {
		return upstreamAttack{play: func(c *hostileConn) {
			c.say(c.head(fmt.Sprintf("Content-Encoding: %s\r\nContent-Length: %d\r\n", encoding, len(body))) + body)
			c.Close()
		}}
	}
	usage := func(text string) string { return strings.Replace(goodAnswer, `"usage":{`, `"usage":{`+text+`,`, 1) }
	all := map[string]upstreamAttack{
		"bomb-gzip": coded("gzip", zipped), "bomb-twice": coded("gzip, gzip", zipped), "bomb-zstd": coded("zstd", zstandard), "bomb-deflate": coded("deflate", zipped),
		"bomb-br": coded("br", zipped), "bomb-case": coded("GZIP", zipped), "bomb-hidden": coded("identity, gzip", zipped),
		"json-deep":          plainBody("200 OK", strings.Repeat("[", 1_000_000), fails),
		"json-deep-objects":  plainBody("200 OK", strings.Repeat(`{"choices":[`, 200_000), fails),
		"json-deep-usage":    plainBody("200 OK", strings.Replace(goodAnswer, `"created":1`, `"created":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000), 1), either),
		"json-number":        plainBody("200 OK", strings.Replace(goodAnswer, `"created":1`, `"created":1e999999999`, 1), either),
		"json-digits":        plainBody("200 OK", strings.Replace(goodAnswer, `"created":1`, `"created":`+strings.Repeat("9", 1<<20), 1), either),
		"json-nul":           plainBody("200 OK", strings.Replace(goodAnswer, goodText, "all\x00fine", 1), either),
		"json-utf8":          plainBody("200 OK", strings.Replace(goodAnswer, goodText, "all \xff\xfe\xc0\xaf\xed\xa0\x80 fine", 1), either),
		"json-surrogate":     plainBody("200 OK", strings.Replace(goodAnswer, goodText, `all \ud800 fine`, 1), either),
		"json-bom":           plainBody("200 OK", "\xef\xbb\xbf"+goodAnswer, either),
		"json-trailing":      plainBody("200 OK", goodAnswer+goodAnswer, either),
		"json-twice":         plainBody("200 OK", usage(`"prompt_tokens":1`), either),
		"json-array":         plainBody("200 OK", "["+goodAnswer+"]", fails),
		"json-null":          plainBody("200 OK", "null", fails),
		"json-no-choices":    plainBody("200 OK", `{"object":"chat.completion","choices":null}`, either),
		"json-many-choices":  plainBody("200 OK", `{"object":"chat.completion","choices":[`+strings.TrimSuffix(strings.Repeat(`{"index":0,"message":{"content":"x"}},`, 50_000), ",")+`]}`, either),
		"html":               raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 38\r\n\r\n<script>alert(document.domain)</script>"),
		"error-html":         raw("HTTP/1.1 502 Bad\r\nContent-Type: text/html\r\nContent-Length: 31\r\n\r\n<script>alert(1)</script>......"),
		"error-huge":         plainBody("500 No", `{"error":{"message":"`+strings.Repeat("x", 10<<20)+`"}}`, fails),
		"error-deep":         plainBody("400 No", strings.Repeat(`{"error":`, 100_000), fails),
		"error-lines":        plainBody("400 No", `{"error":{"message":"a\r\nlevel=ERROR forged=true\u001b[2J\u0000","type":"x","code":{"deep":["x"]}}}`, fails),
		"error-our-code":     plainBody("400 No", `{"error":{"message":"no","type":"x","code":"budget_exceeded","retryable":true}}`, fails),
		"error-key":          {play: echoKey("400 No", `{"error":{"message":"bad key %s"}}`)},
		"error-key-plain":    {play: echoKey("500 No", `%s`)},
		"error-key-good":     {play: echoKey("200 OK", `{"error":{"message":"bad key %s","code":"%s"}}`)},
		"sse-comments":       heavy(endless(withHead(""), ": still here\n\n")),
		"sse-pings":          heavy(endless(withHead(""), "event: ping\ndata:\n\n")),
		"sse-line":           heavy(endless(func(*hostileConn) string { return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " }, "aaaaaaaa")),
		"sse-fields":         heavy(endless(func(*hostileConn) string { return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" }, "data: a\n")),
		"sse-good-then-more": eventsOf(goodStream+strings.Replace(goodChunk, goodText, "stolen", 1), either),
		"sse-done-first":     eventsOf(goodDone, either),
		"sse-error":          eventsOf(`data: {"error":{"message":"no","code":500}}`+"\n\n", fails),
		"sse-error-later":    eventsOf(goodChunk+`data: {"error":{"message":"no","code":500}}`+"\n\n", fails),
		"sse-nul":            eventsOf("id: a\x00b\n"+goodChunk[:60]+"\x00"+goodChunk[60:], fails),
		"sse-retry":          eventsOf("retry: 99999999999999999999\nid: \x00\nevent: \xff\n\n"+goodStream, either),
		"sse-cr":             eventsOf(strings.ReplaceAll(goodStream, "\n", "\r"), either),
		"sse-bom":            eventsOf("\xef\xbb\xbf"+goodStream, either),
		"sse-deep":           eventsOf("data: "+strings.Repeat("[", 200_000)+"\n\n", fails),
		"sse-cut":            eventsOf(goodChunk, fails),
		"sse-drip": {play: func(c *hostileConn) {
			c.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
			c.drip(":\n")
		}},
	}
	return all
}

// echoKey tells the key that came with the call back, in the body and in headers.
func echoKey(status, body string) func(*hostileConn) {
	return func(c *hostileConn) {
		secret := strings.TrimPrefix(c.request.Header.Get("Authorization"), "Bearer ")
		text := strings.ReplaceAll(body, "%s", secret)
		c.say(fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nX-Request-Id: %s\r\nRetry-After: %s\r\nContent-Length: %d\r\n\r\n%s", status, secret, secret, len(text), text))
		c.Close()
	}
}

// upstreamAttacks are all attacks in HTTP/1.1, which are played with and without TLS.
func upstreamAttacks(t testing.TB, canary string) map[string]upstreamAttack {
	all := map[string]upstreamAttack{}
	for _, some := range []map[string]upstreamAttack{headAttacks(canary), lengthAttacks(), bodyAttacks(t)} {
		for name, attack := range some {
			all[strings.NewReplacer(".", "-", "２００", "wide").Replace(name)] = attack
		}
	}
	return all
}

// callBound is how long a caller of a hostile upstream waits at most: what its target's timeouts allow, and what a busy
// machine needs.
const callBound = 15 * time.Second

// hostileSettings is a configuration with a model for each attack, by the URL of its upstream, and one called good. Those
// that may answer have time for it on a busy machine; the others need not be waited for.
func hostileSettings(good string, bases map[string]string, mayAnswer func(name string) bool) string {
	var providers, targets, models strings.Builder
	fmt.Fprintf(&providers, "  good: {kind: openai, base_url: %s/v1, api_key: \"${E2E_UPSTREAM}\"}\n", good)
	fmt.Fprint(&targets, "  good: {provider: good, upstream_model: sim-small, price: {input: \"1\", output: \"2\"}}\n")
	fmt.Fprint(&models, "  good: {targets: [good]}\n")
	for _, name := range slices.Sorted(maps.Keys(bases)) {
		wait := 500 * time.Millisecond
		if mayAnswer(name) {
			wait = 4 * time.Second
		}
		fmt.Fprintf(&providers, "  %s: {kind: openai, base_url: %s/v1, api_key: \"${E2E_UPSTREAM}\"}\n", name, bases[name])
		fmt.Fprintf(&targets, "  %s: {provider: %s, upstream_model: m, price: {input: \"1\", output: \"2\"}, max_output_tokens: 1000, timeouts: {connect: %s, first_token: %s, idle: %s, total: %s}}\n", name, name, wait, wait, wait, 2*wait)
		fmt.Fprintf(&models, "  %s: {targets: [%s]}\n", name, name)
	}
	return "providers:\n" + providers.String() + "targets:\n" + targets.String() + "models:\n" + models.String()
}

// TestAttackHostileUpstreams calls an upstream that attacks in every way, over HTTP/1.1 with and without TLS: plainly,
// streamed, through another dialect, and by jobs. Each caller gets the good answer or a typed error in time. Meanwhile
// another tenant's calls of a good target all succeed.
func TestAttackHostileUpstreams(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("plays some 300 attacks")
	}
	var led atomic.Int64 // calls that a redirect led elsewhere
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { led.Add(1) }))
	t.Cleanup(canary.Close)
	attacks := upstreamAttacks(t, canary.URL)
	played := map[string]func(*hostileConn){}
	for name, attack := range attacks {
		played[name] = attack.play
	}
	h, certificate := newHostile(t, played), hostileCertificate(t)
	plain := h.listen(nil, h.serve1)
	secure := h.listen(&tls.Config{Certificates: []tls.Certificate{certificate.pair}, NextProtos: []string{"http/1.1"}}, h.serve1)
	bases, of := map[string]string{}, map[string]upstreamAttack{}
	for name, attack := range attacks {
		bases["plain-"+name], bases["tls-"+name] = plain+"/"+name, secure+"/"+name
		of["plain-"+name], of["tls-"+name] = attack, attack
	}
	settings := "limits: {max_answer_bytes: 16777216}\n" + hostileSettings(startSim(t), bases, func(name string) bool { return of[name].want != fails })
	a := besiege(t, siege{settings: settings, env: []string{"SSL_CERT_FILE=" + certificate.certFile}})
	stop := a.victim(t.Context(), stranger(post(chatPath, `{"model":"good",`+ask("Hi")[1:])))
	// Answers to one tenant hold four times the largest one, 64 MiB here, and the collector lets the heap double before it runs.
	a.memory = 256 << 20
	a.suffer(of)
	if n := stop(); n < 20 {
		t.Errorf("the victim made %d calls only", n)
	}
	h.stop()
	if n := led.Load(); n > 0 {
		t.Errorf("%d calls followed a redirect, with our key", n)
	}
}

// suffer calls every model, several at a time, and judges what comes back. At the end each has a job, too.
func (a *attacked) suffer(attacks map[string]upstreamAttack) {
	a.t.Helper()
	places, alone := make(chan struct{}, 32), sync.Mutex{}
	var all sync.WaitGroup
	for model, attack := range attacks {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if attack.heavy {
				alone.Lock()
				defer alone.Unlock()
			}
			for _, c := range []Call{
				post(chatPath, `{"model":"`+model+`",`+ask("Hi")[1:]),
				post(chatPath, `{"model":"`+model+`","stream":true,`+ask("Hi")[1:]),
				post("/v1/messages", `{"model":"`+model+`","max_tokens":9,"stream":true,`+ask("Hi")[1:]),
			} {
				if c.Path == chatPath || strings.HasPrefix(model, "tls-") { // translation is the same over either
					a.judge(model, attack, c)
				}
			}
		})
	}
	all.Wait()
	a.sufferJobs(attacks)
}

// judge holds an answer against what an attack may lead to.
func (a *attacked) judge(model string, attack upstreamAttack, c Call) {
	ctx, cancel := context.WithTimeout(a.t.Context(), callBound)
	defer cancel()
	began := time.Now()
	answer, err := a.Try(ctx, c)
	if took := time.Since(began); took > 3*time.Second {
		a.t.Logf("%s %s took %v", model, c.Path, took)
	}
	a.hear(answer)
	stream := strings.Contains(c.Body, `"stream":true`)
	whole := err == nil && answer.Status == http.StatusOK && strings.Contains(answer.Body, "fine") && !strings.Contains(answer.Body, `"error"`)
	failed := answer.typed() || stream && answer.Status == http.StatusOK && saysError(answer.Body)
	ok := map[verdict]bool{fails: failed, answers: whole, either: failed || answer.Status == http.StatusOK, unended: failed || stream && whole}[attack.want]
	if !ok || ctx.Err() != nil {
		a.t.Errorf("%s, %s, stream %t: answered %d %.300s (%v)", model, c.Path, stream, answer.Status, answer.Body, err)
	}
	for _, name := range []string{"Set-Cookie", "Location", "X-Injected", "Access-Control-Allow-Origin", "Refresh", "Content-Disposition", "Content-Encoding"} {
		if answer.Header.Get(name) != "" {
			a.t.Errorf("%s: the header %s of the upstream reached the caller: %q", model, name, answer.Header.Get(name))
		}
	}
	// A browser that is shown the answer must not take it for a page.
	if contentType := answer.Header.Get("Content-Type"); !strings.HasPrefix(contentType, "application/json") && !strings.HasPrefix(contentType, "text/event-stream") {
		a.t.Errorf("%s: the answer has the type %.100q", model, contentType)
	}
	if strings.Contains(answer.Body, "stolen") || strings.Contains(answer.Header.Get("X-Request-Id"), "forged") || strings.Contains(answer.Header.Get("X-Penstock-Target"), "forged") {
		a.t.Errorf("%s: what the upstream forged reached the caller: %v %.300s", model, answer.Header, answer.Body)
	}
}

// saysError says that a stream ends with a typed error.
func saysError(body string) bool {
	parts := strings.Split(strings.TrimSpace(body), "\n\n")
	last := parts[len(parts)-1]
	return strings.Contains(last, `"error"`) && (strings.Contains(last, `"code"`) || strings.Contains(last, `"type"`))
}

// sufferJobs gives each model a job of one attempt: all end, one way or the other.
func (a *attacked) sufferJobs(attacks map[string]upstreamAttack) {
	a.t.Helper()
	jobs := map[string]string{}
	for model, attack := range attacks {
		if attack.heavy || strings.HasPrefix(model, "tls-") {
			continue
		}
		answer := a.Do(post("/v1/jobs", `{"model":"`+model+`","max_attempts":1,"deadline":"`+momentIn(8*time.Second)+`","input":"Hi"}`))
		if answer.Status != http.StatusAccepted {
			a.t.Errorf("a job for %s: %d %s", model, answer.Status, answer.Body)
			continue
		}
		jobs[model] = idOf(answer.Body)
	}
	var all sync.WaitGroup
	places := make(chan struct{}, 64)
	for model, job := range jobs {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			answer := a.ask(get("/v1/jobs/"+job, "Prefer", "wait=60"), 2*time.Minute)
			if answer.Status != http.StatusOK || strings.Contains(answer.Body, `"status":"queued"`) || strings.Contains(answer.Body, `"status":"running"`) {
				a.t.Errorf("the job for %s did not end: %d %s", model, answer.Status, answer.Body)
			}
			a.ask(get("/v1/jobs/"+job+"/results"), patience) // for its secrets
		})
	}
	all.Wait()
}

// TestAttackSecondAnswers has an upstream send an answer that nobody asked for behind a good one, at once or while the
// connection is idle, over plain HTTP and TLS: no later call gets it. One that arrives when the next call was sent already
// cannot be told from the answer to that.
func TestAttackSecondAnswers(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{}, 1)
	second := func(c *hostileConn) string {
		return strings.ReplaceAll(c.answer(""), goodText, "stolen by another caller")
	}
	h := newHostile(t, map[string]func(*hostileConn){
		"at-once": func(c *hostileConn) { c.say(c.answer("") + second(c)) },
		"later": func(c *hostileConn) {
			c.say(c.answer(""))
			<-time.After(5 * time.Millisecond)
			c.say(second(c))
			select {
			case sent <- struct{}{}:
			default: // one was not waited for: its call failed
			}
		},
		"before": func(c *hostileConn) { // with the answer to the first call comes that to the second
			if c.turn == 1 {
				c.say(c.answer("") + second(c))
			}
		},
		"early-head": func(c *hostileConn) {
			text, _ := c.body()
			c.say(c.answer("") + "HTTP/1.1 200 OK\r\nX-Head: ")
			c.say("x\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n" + text)
		},
	})
	certificate := hostileCertificate(t)
	plain := h.listen(nil, h.serve1)
	secure := h.listen(&tls.Config{Certificates: []tls.Certificate{certificate.pair}, NextProtos: []string{"http/1.1"}}, h.serve1)
	bases := map[string]string{}
	for name := range h.attacks {
		bases["plain-"+name], bases["tls-"+name] = plain+"/"+name, secure+"/"+name
	}
	a := besiege(t, siege{settings: hostileSettings(startSim(t), bases, func(string) bool { return true }), env: []string{"SSL_CERT_FILE=" + certificate.certFile}})
	for model := range bases {
		for n := range 40 {
			answer := a.ask(post(chatPath, fmt.Sprintf(`{"model":%q,"stream":%t,%s`, model, n%2 == 1, ask("Hi")[1:])), callBound)
			if strings.Contains(answer.Body, "stolen") || answer.Status == http.StatusOK && !strings.Contains(answer.Body, goodText) && !saysError(answer.Body) {
				t.Errorf("%s: a caller got %d %.300s", model, answer.Status, answer.Body)
			}
			if strings.HasSuffix(model, "later") {
				select {
				case <-sent:
				case <-time.After(100 * time.Millisecond): // the call was refused before it was made
				}
			}
		}
	}
	h.stop()
}
