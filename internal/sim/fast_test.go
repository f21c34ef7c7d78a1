package sim

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestFast(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{Fast: true})
	h := listen(t, s)
	for _, tc := range []struct {
		name, path, options string
		tokens              int
		usage               bool
	}{
		{"chat", chatPath, `"n":1`, fastPlainTokens, true},
		{"chat stream", chatPath, `"stream" : true`, fastStreamTokens, false},
		{"chat stream with usage", chatPath, `"stream_options":{"include_usage":true},"stream":true`, fastStreamTokens, true},
		{"completion", completionPath, `"n":1`, fastPlainTokens, true},
		{"completion stream", completionPath, `"stream":true`, fastStreamTokens, false},
		{"message", messagePath, `"n":1`, fastPlainTokens, true},
		{"message stream", messagePath, `"stream":true`, fastStreamTokens, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := mustSend(t, h, tc.path, `{"model":"m","max_tokens":200,"prompt":"Hi",`+userHi+`,`+tc.options+`}`)
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("status %d, %v", res.StatusCode, err)
			}
			if strings.Contains(string(body), "_tokens") != tc.usage {
				t.Errorf("usage is wanted: %v, got %s", tc.usage, body)
			}
			if tc.tokens == fastStreamTokens {
				pieces := strings.Count(string(body), `"content":"`) + strings.Count(string(body), `"text":"`) - 1 // all open or close with an empty one
				if got := res.Header.Get("Content-Type"); got != streamType || pieces != tc.tokens {
					t.Errorf("%q with %d tokens, want %d: %s", got, pieces, tc.tokens, body)
				}
				return
			}
			if !jsontext.Value(body).IsValid() || int64(len(body)) != res.ContentLength || len(body) < 900 || len(body) > 1300 {
				t.Errorf("%d bytes, content-length %d: %s", len(body), res.ContentLength, body)
			}
		})
	}
	until(t, "the last request was counted", func() bool { return s.Stats().InFlight == 0 })
	got := s.Stats()
	if got.Requests != 7 || got.Streams != 4 || got.ByStatus[200] != 7 || got.OutputTokens != 3*fastPlainTokens+4*fastStreamTokens {
		t.Errorf("stats: %+v", got)
	}
}

// TestFastSpeaksLikeTheOrdinaryWay compares the two for the request that fast answers are rendered from.
func TestFastSpeaksLikeTheOrdinaryWay(t *testing.T) {
	t.Parallel()
	const body = `{"model":"sim-fast","messages":[{"role":"user","content":"fast"}],"prompt":"fast","max_tokens":1000,"stream":true}`
	for _, path := range []string{chatPath, completionPath, messagePath} {
		fast := ask(t, newServer(t, Config{Fast: true}), path, body)
		ordinary := ask(t, newServer(t, Config{OutputTokens: fastStreamTokens}), path, body)
		ids := regexp.MustCompile(`[0-9a-f]{24}|"created":\d+`)
		shape := func(w *httptest.ResponseRecorder) []string {
			var lines []string
			for _, line := range strings.Split(w.Body.String(), "\n") {
				// Only ids and the time of creation may differ.
				lines = append(lines, ids.ReplaceAllString(line, "…"))
			}
			return lines
		}
		if diff := cmp.Diff(shape(ordinary), shape(fast)); diff != "" {
			t.Errorf("%s (-ordinary +fast):\n%s", path, diff)
		}
	}
}

func TestFastStillAsksForTheKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{Fast: true, APIKey: "k"})
	wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), http.StatusUnauthorized)
	r := newRequest(t.Context(), chatPath, chatBody("Hi"))
	r.Header.Set("Authorization", "Bearer k")
	wantStatus(t, do(s, r), http.StatusOK)
}

func TestFastCanBeTurnedOnAndOff(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	ordinary := chatText(t, ask(t, s, chatPath, chatBody("Hi")))
	control(t, s, `PATCH /sim/config {"fast":true}`, &Config{})
	one, two := chatText(t, ask(t, s, chatPath, chatBody("Hi"))), chatText(t, ask(t, s, chatPath, chatBody("Ho")))
	if one != two || one == ordinary {
		t.Errorf("fast answers %q and %q", one, two)
	}
	control(t, s, `PATCH /sim/config {"fast":false}`, &Config{})
	if got := chatText(t, ask(t, s, chatPath, chatBody("Hi"))); got != ordinary {
		t.Errorf("after fast: %q, want %q", got, ordinary)
	}
}

func TestFlagged(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"stream":true}`:                       true,
		"{\"stream\" :\n\ttrue}":                true,
		`{"stream":false}`:                      false,
		`{"stream":null}`:                       false,
		`{"a":"stream","b":true}`:               false,
		`{"a":"\"stream\":true"}`:               false,
		`{"a":"\"stream\":true","stream":true}`: true,
		`{"stream_options":true}`:               false,
		`{"stream"`:                             false,
		``:                                      false,
	} {
		if got := flagged([]byte(body), `"stream"`); got != want {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
}

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
func (d discard) Flush()                      {}

// BenchmarkHandler measures the handler alone.
func BenchmarkHandler(b *testing.B) {
	for name, cfg := range map[string]Config{"fast": {Fast: true}, "ordinary": {OutputTokens: 20}} {
		for form, body := range map[string]string{"plain": chatBody("Hi"), "stream": chatStreamBody("Hi")} {
			b.Run(name+"/"+form, func(b *testing.B) {
				s := newServer(b, cfg)
				reader := strings.NewReader(body)
				r := newRequest(b.Context(), chatPath, body)
				w := discard{make(http.Header)}
				b.ReportAllocs()
				for b.Loop() {
					reader.Reset(body)
					r.Body = io.NopCloser(reader)
					s.ServeHTTP(w, r)
				}
			})
		}
	}
}

// BenchmarkHTTP measures a whole request over a local connection, the client's part included.
func BenchmarkHTTP(b *testing.B) {
	for form, body := range map[string]string{"plain": chatBody("Hi"), "stream": chatStreamBody("Hi")} {
		b.Run("fast/"+form, func(b *testing.B) {
			h := listen(b, newServer(b, Config{Fast: true}))
			b.ReportAllocs()
			for b.Loop() {
				res, err := send(b.Context(), h, chatPath, body)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					b.Fatal(err)
				}
				res.Body.Close()
			}
		})
	}
}
