package translate

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/provider"
)

var update = flag.Bool("update", false, "write the golden files anew")

// directions are the folders of testdata, each with one translation.
var directions = map[string]*translation{
	"chat_to_messages": chatToMessages, "messages_to_chat": messagesToChat, "responses_to_chat": responsesToChat, "responses_to_messages": responsesToMessages,
	"chat_to_gemini": chatToGemini, "messages_to_gemini": messagesToGemini,
	"responses_to_gemini": responsesToGemini, "responses_to_converse": responsesToConverse,
	"chat_to_converse": chatToConverse, "messages_to_converse": messagesToConverse,
}

var asked = dialect.Asked{
	Model: "as-asked", At: time.Unix(1_800_000_000, 0), IncludeUsage: true, Origin: testMost.Origin,
	Body: []byte(`{"input":"Hi","instructions":"Be brief.","metadata":{"a":"b"},"max_output_tokens":9}`),
}

// upstreamAnswer is an upstream's answer in chunks of the given size, which ends with an error or io.EOF.
type upstreamAnswer struct {
	rest   []byte
	size   int
	end    error
	meta   provider.Meta
	closed int
}

func (a *upstreamAnswer) Next() (provider.Chunk, error) {
	if len(a.rest) == 0 {
		return provider.Chunk{}, a.end
	}
	n := min(a.size, len(a.rest))
	// The last chunk's memory is used again, as the contract allows.
	wire := bytes.Clone(a.rest[:n])
	a.rest = a.rest[n:]
	return provider.Chunk{Wire: wire}, nil
}

func (a *upstreamAnswer) Meta() provider.Meta { return a.meta }

func (a *upstreamAnswer) Close() error { a.closed++; return nil }

func upstream(text []byte, contentType string) *upstreamAnswer {
	return &upstreamAnswer{
		rest: text, size: len(text), end: io.EOF,
		meta: provider.Meta{StatusCode: 200, ContentType: contentType, Usage: penstock.Usage{InputTokens: 5}, UsageKnown: true},
	}
}

// read reads an answer to its end.
func read(a provider.Answer) (wire, text string, end error) {
	for {
		chunk, err := a.Next()
		if err != nil {
			return wire, text, err
		}
		wire += string(chunk.Wire)
		text += chunk.Text
	}
}

func inputs(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for direction := range directions {
		paths, err := filepath.Glob(filepath.Join("testdata", direction, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s of %s: %v, %d files", pattern, direction, err, len(paths))
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found[path] = text
		}
	}
	return found
}

func directionOf(path string) *translation { return directions[filepath.Base(filepath.Dir(path))] }

// compare holds a result against the golden file beside its input.
func compare(t *testing.T, input, got string) {
	t.Helper()
	base, _, _ := strings.Cut(input, ".in.")
	path := base + ".golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func indented(t *testing.T, text []byte) string {
	t.Helper()
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatalf("%q is not JSON: %v", text, err)
	}
	return string(v)
}

func TestRequestGolden(t *testing.T) {
	t.Parallel()
	for path, text := range inputs(t, "request_*.in.json") {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			before := bytes.Clone(text)
			body, dropped, err := directionOf(path).Request(text, testMost)
			if !bytes.Equal(before, text) {
				t.Error("the caller's body was changed")
			}
			if err != nil {
				e, ok := errors.AsType[*penstock.Error](err)
				if !ok || e.Code != penstock.CodeInvalidRequest || e.Param == "" {
					t.Fatalf("%v is no invalid_request that names a field", err)
				}
				compare(t, path, fmt.Sprintf("refused: %s\n%s\n", e.Param, e.Message))
				return
			}
			compare(t, path, fmt.Sprintf("dropped: %s\n%s\n", strings.Join(dropped, " "), indented(t, body)))
		})
	}
}

func TestAnswerGolden(t *testing.T) {
	t.Parallel()
	for pattern, contentType := range map[string]string{"answer_*.in.json": typeJSON, "stream_*.in.sse": typeStream} {
		for path, text := range inputs(t, pattern) {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				plain, streamed := asked, asked
				streamed.Stream = true
				got := "plain:\n" + transcript(directionOf(path).Answer(upstream(text, contentType), plain)) +
					"\nstreamed:\n" + transcript(directionOf(path).Answer(upstream(text, contentType), streamed))
				compare(t, path, got)
			})
		}
	}
}

func transcript(a provider.Answer) string {
	wire, text, end := read(a)
	if wire != "" && !strings.HasSuffix(wire, "\n") {
		wire += "\n"
	}
	return fmt.Sprintf("%stext: %q\nend: %v\n", wire, text, end)
}

// However an upstream's bytes are cut into chunks, the answer is the same.
func TestChunksDoNotShow(t *testing.T) {
	t.Parallel()
	for pattern, contentType := range map[string]string{"answer_*.in.json": typeJSON, "stream_*.in.sse": typeStream} {
		for path, text := range inputs(t, pattern) {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				for _, stream := range []bool{false, true} {
					a := asked
					a.Stream = stream
					want := transcript(directionOf(path).Answer(upstream(text, contentType), a))
					for _, size := range []int{1, 2, 3, 7, 64, 1000} {
						cut := upstream(text, contentType)
						cut.size = size
						if diff := cmp.Diff(want, transcript(directionOf(path).Answer(cut, a))); diff != "" {
							t.Fatalf("in chunks of %d (-whole +cut):\n%s", size, diff)
						}
					}
				}
			})
		}
	}
}

// testMost is what an upstream may generate for a call that sets no bound.
var testMost = dialect.Upstream{MaxOutputTokens: 65536, Origin: "main/model"}
