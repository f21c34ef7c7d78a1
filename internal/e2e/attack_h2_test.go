package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2conn is the server's side of an HTTP/2 connection, one frame at a time.
type h2conn struct {
	net.Conn
	*http2.Framer
	pack   *hpack.Encoder
	packed bytes.Buffer
	stream uint32 // the request's
	wants  string // its content type: a stream, or JSON
}

// h2attack is one way in which an upstream misbehaves in HTTP/2. It begins when a request was read.
type h2attack struct {
	settings []http2.Setting // other than usual
	greet    func(*h2conn)   // before anything else; nil for nothing
	play     func(*h2conn)
	want     verdict
}

// serve2 speaks HTTP/2 for the attack that the path of the first request names.
func (h *hostile) serve2(attacks map[string]h2attack) func(net.Conn) {
	return func(raw net.Conn) {
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(raw, preface); err != nil {
			return
		}
		c := &h2conn{Conn: raw, Framer: http2.NewFramer(raw, raw)}
		c.pack = hpack.NewEncoder(&c.packed)
		c.AllowIllegalWrites = true
		c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		// Which attack it is shows only in a request, which some settings keep from being sent: they are those of the port.
		for name, attack := range attacks {
			if len(attacks) == 1 {
				_ = c.WriteSettings(attack.settings...) // the victim may have left
				if attack.greet != nil {
					attack.greet(c)
				}
				c.serve(h, name, attack)
			}
		}
	}
}

func (c *h2conn) serve(h *hostile, name string, attack h2attack) {
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = c.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			c.stream = f.StreamID
			for _, field := range f.Fields {
				if field.Name == "accept" {
					c.wants = field.Value
				}
			}
			if f.StreamEnded() {
				attack.play(c)
			}
		case *http2.DataFrame:
			_ = c.WriteWindowUpdate(0, 1<<16)
			if f.StreamEnded() {
				attack.play(c)
			}
		}
	}
}

// headers sends a head. Each field is a name and its value.
func (c *h2conn) headers(end bool, fields ...string) error {
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: c.block(fields...), EndHeaders: true, EndStream: end})
}

func (c *h2conn) block(fields ...string) []byte {
	c.packed.Reset()
	for i := 0; i+1 < len(fields); i += 2 {
		_ = c.pack.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // into memory
	}
	return bytes.Clone(c.packed.Bytes())
}

func (c *h2conn) body() (text, contentType string) {
	if strings.Contains(c.wants, "event-stream") {
		return goodStream, "text/event-stream"
	}
	return goodAnswer, "application/json"
}

// head sends a good head, with further fields.
func (c *h2conn) head(fields ...string) {
	_, contentType := c.body()
	_ = c.headers(false, append([]string{":status", "200", "content-type", contentType}, fields...)...)
}

// good sends a good answer.
func (c *h2conn) good() {
	text, _ := c.body()
	c.head()
	_ = c.WriteData(c.stream, true, []byte(text))
}

// until repeats a frame until it cannot be sent any more.
func until(send func() error) {
	for send() == nil {
	}
}

// h2attacks are attacks in frames. A request may be sent before settings arrive that forbid it.
func h2attacks() map[string]h2attack {
	all := h2connections()
	maps.Copy(all, h2heads())
	maps.Copy(all, h2bodies())
	for code := http2.ErrCodeNo; code <= http2.ErrCodeHTTP11Required; code++ {
		name := strings.ToLower(strings.ReplaceAll(code.String(), "_", "-"))
		all["rst-"+name] = h2attack{play: func(c *h2conn) { _ = c.WriteRSTStream(c.stream, code) }}
		all["rst-later-"+name] = h2attack{play: func(c *h2conn) {
			c.head()
			_ = c.WriteData(c.stream, false, []byte(" "))
			_ = c.WriteRSTStream(c.stream, code)
		}}
	}
	return all
}

// h2connections are attacks on the connection.
func h2connections() map[string]h2attack {
	return map[string]h2attack{
		"good":   {want: answers, play: (*h2conn).good},
		"goaway": {play: func(c *h2conn) { _ = c.WriteGoAway(0, http2.ErrCodeNo, nil); c.Close() }},
		"goaway-later": {play: func(c *h2conn) {
			c.head()
			_ = c.WriteGoAway(0, http2.ErrCodeInternal, bytes.Repeat([]byte("x"), 10_000))
			c.Close()
		}},
		"goaway-flood": {play: func(c *h2conn) {
			until(func() error { return c.WriteGoAway(1<<30, http2.ErrCodeNo, make([]byte, 16000)) })
		}},
		"close":           {play: func(c *h2conn) { c.Close() }},
		"hang":            {play: func(*h2conn) {}},
		"settings-flood":  {play: func(c *h2conn) { until(func() error { return c.WriteSettings() }) }},
		"ping-flood":      {play: func(c *h2conn) { until(func() error { return c.WritePing(false, [8]byte{}) }) }},
		"window-zero":     {settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, play: (*h2conn).good, want: either},
		"window-illegal":  {settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1 << 31}}, play: (*h2conn).good},
		"window-overflow": {play: func(c *h2conn) { _ = c.WriteWindowUpdate(0, 1<<31-1); _ = c.WriteWindowUpdate(0, 1<<31-1); c.good() }, want: either},
		"window-nothing":  {play: func(c *h2conn) { _ = c.WriteWindowUpdate(c.stream, 0); c.good() }, want: either},
		"streams-none":    {settings: []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 0}}, play: (*h2conn).good, want: either},
		"frame-size":      {settings: []http2.Setting{{ID: http2.SettingMaxFrameSize, Val: 1}}, play: (*h2conn).good},
		"table-huge":      {settings: []http2.Setting{{ID: http2.SettingHeaderTableSize, Val: 1<<32 - 1}}, play: (*h2conn).good, want: answers},
		"list-tiny":       {settings: []http2.Setting{{ID: http2.SettingMaxHeaderListSize, Val: 1}}, play: (*h2conn).good, want: either},
	}
}

// h2heads are attacks in heads.
func h2heads() map[string]h2attack {
	return map[string]h2attack{
		"status-missing": {play: func(c *h2conn) { _ = c.headers(true, "content-type", "application/json") }},
		"status-twice":   {play: func(c *h2conn) { _ = c.headers(true, ":status", "200", ":status", "500") }},
		"status-late":    {play: func(c *h2conn) { _ = c.headers(true, "content-type", "application/json", ":status", "200") }},
		"status-words":   {play: func(c *h2conn) { _ = c.headers(true, ":status", "abc") }},
		"status-zero":    {play: func(c *h2conn) { _ = c.headers(true, ":status", "000") }},
		"pseudo-unknown": {play: func(c *h2conn) { _ = c.headers(true, ":status", "200", ":path", "/") }},
		"header-upper":   {play: func(c *h2conn) { c.head("X-Upper", "a"); _ = c.WriteData(c.stream, true, []byte(goodAnswer)) }, want: either},
		"header-crlf": {play: func(c *h2conn) {
			c.head("x-split", "a\r\nX-Injected: b")
			_ = c.WriteData(c.stream, true, []byte(goodAnswer))
		}, want: either},
		"header-nul": {play: func(c *h2conn) { c.head("x-nul", "a\x00b"); _ = c.WriteData(c.stream, true, []byte(goodAnswer)) }, want: either},
		"header-hop": {play: func(c *h2conn) {
			c.head("connection", "close", "transfer-encoding", "chunked")
			_ = c.WriteData(c.stream, true, []byte(goodAnswer))
		}, want: either},
		"header-huge":   {play: func(c *h2conn) { c.continued(strings.Repeat("a", 10<<20)) }},
		"header-bomb":   {play: (*h2conn).bomb},
		"continuation":  {play: (*h2conn).continueForever},
		"interim-flood": {play: func(c *h2conn) { until(func() error { return c.headers(false, ":status", "103", "link", "x") }) }},
		"headers-flood": {play: func(c *h2conn) { c.head(); until(func() error { return c.headers(false, "x-more", "a") }) }},
		"trailers-huge": {play: func(c *h2conn) { c.head(); c.continued(strings.Repeat("b", 10<<20)) }},
	}
}

// h2bodies are attacks in bodies, and in frames that do not belong there.
func h2bodies() map[string]h2attack {
	return map[string]h2attack{
		"data-unasked":   {play: func(c *h2conn) { _ = c.WriteData(c.stream, true, []byte(goodAnswer)) }},
		"data-stream-0":  {play: func(c *h2conn) { _ = c.WriteRawFrame(http2.FrameData, http2.FlagDataEndStream, 0, []byte(goodAnswer)) }},
		"data-other":     {play: func(c *h2conn) { _ = c.WriteData(c.stream+100, true, []byte(goodAnswer)) }},
		"data-after-end": {want: answers, play: func(c *h2conn) { c.good(); _ = c.WriteData(c.stream, true, []byte(goodAnswer)) }},
		"data-empty":     {play: func(c *h2conn) { c.head(); until(func() error { return c.WriteData(c.stream, false, nil) }) }},
		"data-padded": {play: func(c *h2conn) {
			c.head()
			until(func() error { return c.WriteDataPadded(c.stream, false, []byte(" "), make([]byte, 255)) })
		}},
		"data-past-window": {play: func(c *h2conn) {
			c.head()
			until(func() error { return c.WriteData(c.stream, false, bytes.Repeat([]byte(" "), 16<<10)) })
		}},
		"length-wrong": {want: unended, play: func(c *h2conn) {
			text, _ := c.body()
			c.head("content-length", "5")
			_ = c.WriteData(c.stream, true, []byte(text))
		}},
		"length-short": {want: unended, play: func(c *h2conn) {
			text, _ := c.body()
			c.head("content-length", "999999")
			_ = c.WriteData(c.stream, true, []byte(text))
		}},
		"push": {play: func(c *h2conn) {
			_ = c.WritePushPromise(http2.PushPromiseParam{StreamID: c.stream, PromiseID: 2, BlockFragment: c.block(":method", "GET", ":path", "/"), EndHeaders: true})
		}},
		"unknown-flood": {play: func(c *h2conn) { until(func() error { return c.WriteRawFrame(0xbb, 0, c.stream, make([]byte, 100)) }) }},
		"frame-garbage": {play: func(c *h2conn) { _, _ = c.Conn.Write(bytes.Repeat([]byte{0xff}, 1000)) }},
		"http1": {play: func(c *h2conn) {
			_, _ = io.WriteString(c.Conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			c.Close()
		}},
		"upgrade": {play: func(c *h2conn) { _ = c.headers(false, ":status", "101", "upgrade", "websocket") }},
		"bomb-gzip": {play: func(c *h2conn) {
			c.head("content-encoding", "gzip")
			_ = c.WriteData(c.stream, true, []byte("\x1f\x8b\x08\x00"))
		}},
		"cookie": {want: answers, play: func(c *h2conn) {
			text, _ := c.body()
			c.head("set-cookie", "a=b", "location", "http://evil.example", "x-injected", "a")
			_ = c.WriteData(c.stream, true, []byte(text))
		}},
	}
}

// continued sends one field in as many frames as it takes.
func (c *h2conn) continued(value string) {
	block := c.block(":status", "200", "x-huge", value)
	const most = 16 << 10
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: block[:most]})
	for block = block[most:]; len(block) > most; block = block[most:] {
		if c.WriteContinuation(c.stream, false, block[:most]) != nil {
			return
		}
	}
	_ = c.WriteContinuation(c.stream, true, block)
}

// continueForever never ends a head.
func (c *h2conn) continueForever() {
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: c.block(":status", "200")})
	fragment := c.block("x-more", "a")
	until(func() error { return c.WriteContinuation(c.stream, false, fragment) })
}

// bomb puts one large field into the victim's table and names it ten thousand times, a byte each.
func (c *h2conn) bomb() {
	block := append(c.block(":status", "200", "x-bomb", strings.Repeat("a", 3000)), bytes.Repeat([]byte{0x80 | 62}, 10_000)...)
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: block, EndHeaders: true, EndStream: true})
}

// TestAttackHostileHTTP2 calls an upstream that attacks in the frames of HTTP/2, plainly and streamed. Each caller gets the
// good answer or a typed error in time, and another tenant's calls of a good target all succeed.
func TestAttackHostileHTTP2(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("plays some 80 attacks")
	}
	certificate, h := hostileCertificate(t), newHostile(t, nil)
	bases, attacks := map[string]string{}, h2attacks()
	for name, attack := range attacks {
		config := &tls.Config{Certificates: []tls.Certificate{certificate.pair}, NextProtos: []string{"h2"}}
		bases["h2-"+name] = h.listen(config, h.serve2(map[string]h2attack{name: attack})) + "/" + name
	}
	mayAnswer := func(name string) bool { return attacks[strings.TrimPrefix(name, "h2-")].want != fails }
	a := besiege(t, siege{
		// The default, 64 MiB, would let one endless answer take most of the memory that all attacks may take.
		settings: "limits: {max_answer_bytes: 16777216}\n" + hostileSettings(startSim(t), bases, mayAnswer),
		env:      []string{"SSL_CERT_FILE=" + certificate.certFile},
	})
	stop := a.victim(t.Context(), stranger(post(chatPath, `{"model":"good",`+ask("Hi")[1:])))
	places := make(chan struct{}, 32)
	var all sync.WaitGroup
	for name, attack := range attacks {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			for _, stream := range []string{"false", "true"} {
				a.judge("h2-"+name, upstreamAttack{want: attack.want}, post(chatPath, `{"model":"h2-`+name+`","stream":`+stream+`,`+ask("Hi")[1:]))
			}
		})
	}
	all.Wait()
	if n := stop(); n < 10 {
		t.Errorf("the victim made %d calls only", n)
	}
	h.stop()
}

// TestAttackH2Callers attacks our own listener with HTTP/2: rapid resets, floods of settings and pings, endless
// continuations, streams without end. The connection or the stream is closed, others are served, and nothing leaks.
func TestAttackH2Callers(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	a := besiege(t, siege{settings: simModel(upstream), tls: true})
	address := strings.TrimPrefix(a.URL, "https://")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	for name, attack := range h2callers() {
		t.Run(name, func(t *testing.T) {
			conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			if err != nil || conn.ConnectionState().NegotiatedProtocol != "h2" {
				t.Fatalf("HTTP/2 is not served: %v", err)
			}
			defer conn.Close()
			ended := make(chan struct{})
			go func() { // what the server says is not of interest, that it can say it is
				_, _ = io.Copy(io.Discard, conn)
				close(ended)
			}()
			_ = conn.SetWriteDeadline(time.Now().Add(patience))
			_, _ = io.WriteString(conn, http2.ClientPreface)
			c := &h2conn{Conn: conn, Framer: http2.NewFramer(conn, nil), stream: 1}
			c.pack, c.AllowIllegalWrites = hpack.NewEncoder(&c.packed), true
			_ = c.WriteSettings()
			attack(c)
			conn.Close()
			<-ended
			h2call(t, client, a.URL)
		})
	}
	client.CloseIdleConnections()
}

// h2call is a good call that must succeed.
func h2call(t *testing.T, client *http.Client, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+chatPath, strings.NewReader(`{"model":"fast",`+ask("Hi")[1:]))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+Key)
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		t.Errorf("a good call beside the attack: %s %s %v", answer.Proto, body, err)
	}
}

// h2callers are attacks on a server.
func h2callers() map[string]func(*h2conn) {
	request := func(c *h2conn, end bool) error {
		return c.headers(end, ":method", "POST", ":scheme", "https", ":authority", "x", ":path", chatPath, "authorization", "Bearer "+Key)
	}
	const floods = 20_000
	flood := func(send func() error) {
		for range floods {
			if send() != nil {
				return
			}
		}
	}
	return map[string]func(*h2conn){
		"rapid reset": func(c *h2conn) {
			flood(func() error {
				if err := request(c, false); err != nil {
					return err
				}
				c.stream += 2
				return c.WriteRSTStream(c.stream-2, http2.ErrCodeCancel)
			})
		},
		"open streams":   func(c *h2conn) { flood(func() error { c.stream += 2; return request(c, false) }) },
		"settings flood": func(c *h2conn) { flood(func() error { return c.WriteSettings() }) },
		"ping flood":     func(c *h2conn) { flood(func() error { return c.WritePing(false, [8]byte{}) }) },
		"priority flood": func(c *h2conn) { flood(func() error { return c.WritePriority(1, http2.PriorityParam{StreamDep: 3}) }) },
		"continuation": func(c *h2conn) {
			_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.block(":method", "POST")})
			flood(func() error { return c.WriteContinuation(1, false, c.block("x-more", strings.Repeat("a", 1000))) })
		},
		"header bomb":     (*h2conn).bomb,
		"header huge":     func(c *h2conn) { c.continued(strings.Repeat("a", 4<<20)) },
		"window overflow": func(c *h2conn) { flood(func() error { return c.WriteWindowUpdate(0, 1<<31-1) }) },
		"empty data":      func(c *h2conn) { _ = request(c, false); flood(func() error { return c.WriteData(1, false, nil) }) },
		"even stream":     func(c *h2conn) { c.stream = 2; _ = request(c, true) },
		"stream zero":     func(c *h2conn) { c.stream = 0; _ = request(c, true) },
		"crlf in a path": func(c *h2conn) {
			_ = c.headers(true, ":method", "GET", ":scheme", "https", ":authority", "x", ":path", "/v1/jobs HTTP/1.1\r\nHost: y", "authorization", "Bearer "+Key)
		},
		"crlf in a value": func(c *h2conn) {
			_ = c.headers(true, ":method", "GET", ":scheme", "https", ":authority", "x", ":path", "/v1/jobs", "x-a", "b\r\nAuthorization: Bearer "+Key)
		},
		"garbage": func(c *h2conn) { _, _ = c.Conn.Write(bytes.Repeat([]byte{0xff}, 100_000)) },
		"lengths": func(c *h2conn) {
			for i, length := range []string{"-1", "+5", "5, 5", "99999999999999999999", "3"} {
				c.stream = uint32(2*i + 1)
				_ = c.headers(false, ":method", "POST", ":scheme", "https", ":authority", "x", ":path", chatPath, "authorization", "Bearer "+Key, "content-length", length)
				_ = c.WriteData(c.stream, true, fmt.Appendf(nil, `{"model":"fast","n":%d}`, i))
			}
		},
	}
}
