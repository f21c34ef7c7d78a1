package sim

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
)

// Lengths of the answers that fast mode gives: about 1.1 KiB plain, and a stream as long as a short chat
// answer.
const (
	fastPlainTokens  = 100
	fastStreamTokens = 20
)

// maxPooledBytes bounds the body buffers that are kept for reuse.
const maxPooledBytes = 1 << 20

// fastAnswer is what fast mode says on one endpoint.
type fastAnswer struct {
	endpoint    *endpoint
	plain       fastBody
	stream      fastBody
	streamUsage fastBody // for a request with include_usage; the same as stream where there is no such option
}

// fastBody is a rendered answer. Its header values are shared by all responses and must not be changed.
type fastBody struct {
	body          []byte
	contentType   []string
	contentLength []string // nil for a stream
	outcome       outcome
}

// renderFast renders the answers of every endpoint that can stream. It goes the way of an ordinary request,
// so that the two can never differ in form.
func (s *Server) renderFast(cfg Config) (map[string]*fastAnswer, error) {
	answers := make(map[string]*fastAnswer)
	for _, e := range s.endpoints {
		if e.decodeAt != nil {
			continue // the path has the model: there is no one answer for it
		}
		answer := &fastAnswer{endpoint: e}
		for options, into := range map[string]*fastBody{
			`"stream":false`: &answer.plain,
			`"stream":true`:  &answer.stream,
			`"stream":true,"stream_options":{"include_usage":true}`: &answer.streamUsage,
		} {
			var err error
			if *into, err = s.renderFastBody(e, cfg, options); err != nil {
				return nil, fmt.Errorf("render fast answer of %s: %w", e.path, err)
			}
		}
		if answer.stream.outcome.streamed {
			answers[e.path] = answer
		}
	}
	return answers, nil
}

func (s *Server) renderFastBody(e *endpoint, cfg Config, options string) (fastBody, error) {
	// Each endpoint takes from this what it knows.
	const body = `{"model":"sim-fast","max_tokens":1000,"messages":[{"role":"user","content":"fast"}],` +
		`"prompt":"fast","input":"fast","query":"fast","documents":["fast"],%s}`
	call, err := e.decode(fmt.Appendf(nil, body, options))
	if err != nil {
		return fastBody{}, err
	}
	cfg.OutputTokens = fastPlainTokens
	if call.stream {
		cfg.OutputTokens = fastStreamTokens
	}
	x := &exchange{endpoint: e, config: &cfg, id: idOf(cfg.Seed, 0), call: call}
	if err := x.plan(); err != nil {
		return fastBody{}, err
	}
	fast := fastBody{outcome: outcome{
		status:       http.StatusOK,
		inputTokens:  x.answer.inputTokens,
		outputTokens: x.answer.outputTokens,
		streamed:     call.stream,
	}}
	if call.stream {
		for f := range call.responder.(streamer).frames(x.answer) {
			fast.body = append(fast.body, f.data...)
		}
		fast.contentType = []string{streamType}
		return fast, nil
	}
	fast.body = call.responder.plain(x.answer)
	fast.contentType = []string{plainType}
	fast.contentLength = []string{strconv.Itoa(len(fast.body))}
	return fast, nil
}

// serveFast answers with rendered bytes. It returns false, with nothing done, for a request that needs the
// ordinary way: one that is to be refused, or of unknown length.
func (s *Server) serveFast(w http.ResponseWriter, r *http.Request, answer *fastAnswer) bool {
	key := s.settings.Load().config.APIKey
	if r.ContentLength < 0 || r.ContentLength > MaxBodyBytes || answer.endpoint.dialect.check(r.Header, key) != nil {
		return false
	}
	s.tally.begin(answer.endpoint.path)
	o := outcome{cancelled: true}
	defer func() { s.tally.end(o) }()

	buffer := s.buffers.Get().(*bytes.Buffer)
	defer func() {
		if buffer.Cap() <= maxPooledBytes {
			buffer.Reset()
			s.buffers.Put(buffer)
		}
	}()
	if _, err := buffer.ReadFrom(r.Body); err != nil {
		return true
	}
	chosen := &answer.plain
	if flagged(buffer.Bytes(), `"stream"`) {
		chosen = &answer.stream
		if flagged(buffer.Bytes(), `"include_usage"`) {
			chosen = &answer.streamUsage
		}
	}
	h := w.Header()
	h["Content-Type"] = chosen.contentType
	if chosen.contentLength != nil {
		h["Content-Length"] = chosen.contentLength
	}
	if _, err := w.Write(chosen.body); err == nil {
		o = chosen.outcome
	}
	return true
}

// flagged reports whether a JSON text sets a name, given in quotes, to true. It looks without parsing: inside a
// string the quotes would be escaped and so not match, and a value is not followed by a colon.
func flagged(body []byte, name string) bool {
	for {
		i := bytes.Index(body, []byte(name))
		if i < 0 {
			return false
		}
		body = body[i+len(name):]
		rest, colon := bytes.CutPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte(":"))
		if colon && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("true")) {
			return true
		}
	}
}
