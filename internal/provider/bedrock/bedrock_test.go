package bedrock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

var example = Credentials{Region: "us-east-1", AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: "session-token-1"}

// A signature computed apart from this code, from the definition of SigV4.
func TestSignature(t *testing.T) {
	t.Parallel()
	h, err := example.signAt(t.Context(), "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-test%3A0/converse",
		[]byte(`{"messages":[]}`), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260301/us-east-1/bedrock/aws4_request, " +
		"SignedHeaders=content-length;content-type;host;x-amz-date;x-amz-security-token, Signature=e2895c68fc0542e50e9519e3fef8d460b0554ffc9fef012f8f19562a539c8c61"
	if got := h.Get("Authorization"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if h.Get("X-Amz-Date") != "20260301T120000Z" || h.Get("X-Amz-Security-Token") != "session-token-1" || h.Get("Content-Type") != "" {
		t.Errorf("headers %v", h)
	}
}

// The server gets the signature of the request that it sees, and errors contain no part of the credentials.
func TestCallsAreSigned(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Errorf("date: %v", err)
		}
		again, err := example.signAt(r.Context(), "http://"+r.Host+r.RequestURI, text, at)
		if err != nil || again.Get("Authorization") != r.Header.Get("Authorization") {
			t.Errorf("the signature is not that of the request: %v, %s", err, r.Header.Get("Authorization"))
		}
		seen <- r
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"message":"You sent `+example.SecretAccessKey+` and `+example.SessionToken+`"}`)
	}))
	t.Cleanup(server.Close)
	p := newProvider(t, Config{BaseURL: server.URL}, example)
	_, err := p.Call(t.Context(), provider.Call{
		Endpoint: penstock.EndpointConverse, UpstreamModel: "arn:aws:bedrock:us-east-1:1:inference-profile/eu.claude", Stream: true, Body: []byte(ask),
		Header: http.Header{"X-Amz-Security-Token": {"the caller's"}, "Authorization": {"the caller's"}},
	})
	e := provider.AsError(err)
	if e.Kind != provider.KindRejected || strings.Contains(e.Error()+string(e.Body), example.SecretAccessKey) || strings.Contains(e.Error()+string(e.Body), example.SessionToken) {
		t.Errorf("%v %s", e, e.Body)
	}
	r := <-seen
	if want := "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Feu.claude/converse-stream"; r.RequestURI != want {
		t.Errorf("called %s, want %s", r.RequestURI, want)
	}
	if accept := r.Header.Get("Accept"); accept != framing.Type {
		t.Errorf("accepts %q", accept)
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []Credentials{{}, {Region: "r", AccessKeyID: "a"}, {Region: "r", SecretAccessKey: "s"}} {
		if _, err := New(Config{Name: "b"}, c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	if _, err := New(Config{Name: "b"}, Credentials{Region: "eu-central-1"}); err != nil {
		t.Error(err)
	}
}

// However the bytes of a stream arrive, the events are the same; and what breaks the framing is an error and no event.
func TestEventStream(t *testing.T) {
	t.Parallel()
	one, two := message("event", "messageStart", `{"role":"assistant"}`), message("exception", "throttlingException", `{"message":"Slow down"}`)
	failed := new(bytes.Buffer)
	m := eventstream.Message{}
	m.Headers.Set(":message-type", eventstream.StringValue("error"))
	m.Headers.Set(":error-code", eventstream.StringValue("InternalFailure"))
	m.Headers.Set(":error-message", eventstream.StringValue(`It "broke"`))
	if err := eventstream.NewEncoder().Encode(failed, m); err != nil {
		t.Fatal(err)
	}
	const want = "data: {\"messageStart\":{\"role\":\"assistant\"}}\n\ndata: {\"throttlingException\":{\"message\":\"Slow down\"}}\n\n" +
		"data: {\"InternalFailure\":{\"message\":\"It \\\"broke\\\"\"}}\n\n"
	for _, size := range []int{1, 7, 1000} {
		got, err := io.ReadAll(framing.Events(&slow{rest: []byte(one + two + failed.String()), size: size}))
		if err != nil || string(got) != want {
			t.Errorf("in parts of %d: %q, %v", size, got, err)
		}
	}
	large := make([]byte, 12)
	binary.BigEndian.PutUint32(large, maxMessageBytes+1)
	short := bytes.Clone([]byte(one))
	binary.BigEndian.PutUint32(short[4:], 1<<30)
	flipped := bytes.Clone([]byte(one))
	flipped[len(flipped)-10] ^= 1
	for name, stream := range map[string][]byte{"headers longer than the message": short, "a wrong checksum": flipped, "text": []byte("data: {}\n\nmore"), "no type": []byte(message("event", "", `{}`))} {
		_, err := io.ReadAll(framing.Events(bytes.NewReader(stream)))
		if _, ok := errors.AsType[*wire.FramingError](err); !ok && name != "text" {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := io.ReadAll(framing.Events(bytes.NewReader(large))); !errors.As(err, new(*sse.TooLargeError)) {
		t.Errorf("a message that is too large: %v", err)
	}
	for n := 1; n < len(one); n++ {
		if _, err := io.ReadAll(framing.Events(strings.NewReader(one[:n]))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: %v", n, len(one), err)
		}
	}
}

// slow is a stream that arrives in parts.
type slow struct {
	rest []byte
	size int
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest[:min(s.size, len(s.rest))])
	s.rest = s.rest[n:]
	return n, nil
}

func FuzzEventStream(f *testing.F) {
	f.Add([]byte(message("event", "messageStart", `{}`)), 3)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		whole, end := io.ReadAll(framing.Events(bytes.NewReader(stream)))
		parts, cut := io.ReadAll(framing.Events(&slow{rest: stream, size: max(1, size)}))
		if !bytes.Equal(whole, parts) || (end == nil) != (cut == nil) {
			t.Errorf("whole %q, %v; in parts %q, %v", whole, end, parts, cut)
		}
	})
}
