// Package sim is a simulated model server: an http.Handler that speaks the OpenAI and Anthropic wire formats,
// answers deterministically, and misbehaves on request. It is the upstream that demos, tests and benchmarks
// call over real HTTP.
//
// It owns the wire formats it serves, its limits, its faults and its counters. It does not own a listener,
// and it knows nothing of the rest of Penstock: what passes here passes because the bytes are right.
//
// # Endpoints
//
//	POST /v1/chat/completions        plain and streamed
//	POST /v1/completions             plain and streamed; several prompts
//	POST /v1/embeddings              float and base64
//	POST /v1/rerank, /v2/rerank      by the words that a document shares with the query
//	POST /v1/responses               plain and streamed; nothing is stored
//	POST /v1/messages                plain and streamed; threads are refused, so that SDKs do without
//	POST /v1/messages/count_tokens
//	GET  /v1/models                  in Anthropic's shape when anthropic-version is present
//	GET  /sim/stats                  what was served, as Stats
//	GET  /sim/executions             how often one prompt ran: ?prompt=TEXT or ?sha256=HEX
//	POST /sim/executions             the same for many: {"prompts":["…","…"]}
//	POST /sim/release                let go what waits on a hold: ?name=NAME
//	POST /sim/reset                  forget counters, limits used, holds and request numbers; keep the settings
//	GET  /sim/config                 the settings in force
//	PUT  /sim/config                 replace them (what is left out returns to its default)
//	PATCH /sim/config                change only those named
//
// With Config.APIKey set, every endpoint asks for that key, the /sim/ ones included. Without it the OpenAI
// paths need none, and the Anthropic paths need some key in x-api-key or as a Bearer token. The Anthropic
// paths always need anthropic-version, as the real ones do. Any model name is served.
//
// # Answers
//
// The text is a function of the seed, the model and the conversation, whichever dialect carried it: a digest
// of the three, then words of a small vocabulary. One word is one token, and a stream carries one in each
// chunk. The answer has Config.OutputTokens words and ends with "stop", or fewer and "length" when the
// request's own maximum is smaller. Input is counted as one token for each four bytes of text begun, and an
// image or other attachment as 256 tokens. With images or files in the prompt, the text says how many there are
// and, for those in the request itself, how large. n asks for several choices, each with a text of its own;
// logprobs and top_logprobs are a function of each token and its place.
//
// A format (response_format, text.format, output_config.format) makes the text JSON: an instance of the schema,
// or some object for json_object. Package sim/schema generates it. A schema that has no instance, or is too
// costly, is answered with 400.
//
// # Tools
//
// The answer calls tools instead of giving a text:
//
//   - tool_choice names a tool: that tool;
//   - tool_choice demands some tool: those that the last user message mentions, or the first; if all of these
//     were called since that message, the first tool that was not;
//   - the model may choose: those that the last user message mentions and that were not called since. A message
//     mentions a tool by its name, or by a word of its name that has at least four characters: "What is
//     the weather in Paris?" mentions get_weather. A word that the names of several tools share does not count
//     if the text also has a word of one name only. So a loop that returns the results of tools ends with a text.
//
// Several tools are called in parallel, unless the request forbids it: then the first. Arguments are an instance
// of the tool's schema. A call that the request's maximum of tokens leaves no space for is left out.
//
// # Reasoning
//
// With reasoning_effort, reasoning.effort or thinking, the answer begins with thoughts. They count as output and,
// in OpenAI's dialect, as reasoning tokens. Chat completions carry them in reasoning_content, as compatible
// servers do; responses in a reasoning item, with a summary if the request asks for one; messages in a thinking
// block. Its signature is checked when the block is sent back.
//
// # Misbehaviour
//
// A fault comes from one of three places. The first that speaks wins:
//
//  1. the header x-sim-fault with the name of a Fault;
//  2. a directive in the last user message (or prompt, or input), which a gateway passes on untouched;
//  3. Config.Faults: a draw for the n-th inference request that depends only on the seed and n.
//
// A directive is settings in brackets; several may stand in one message, and an unknown one is answered with
// 400:
//
//	[sim:fault=server_error]           fail every time
//	[sim:fault=server_error times=2]   fail the first two requests with this exact text, then answer
//	[sim:latency=250ms]                time to the first token
//	[sim:tokens=50]                    length of the answer
//	[sim:calls=2]                      calls of each tool that is called, with different arguments
//	[sim:cached=40 reasoning=4]        how many tokens are reported to be of a class of their own; also written,
//	                                   written_1h (in messages), audio_input and audio_output (in chats)
//	[sim:hold=NAME]                    wait, slot included, until NAME is released; at once if it was before
//
// Rate limits, slots and the queue apply before faults: a request refused by them does not use up a counted
// fault.
//
// # Counting
//
// A request is counted before its client can have seen the end of its answer, so a test that has read one to
// the end finds it in the counters.
//
// # Fast
//
// Config.Fast serves chat completions, completions, responses and messages from bytes rendered beforehand, for
// benchmarks in which the upstream must cost as little as possible. The answer is the same for every request,
// and directives, x-sim-fault and prompt counters do not apply; a stream may reach its client a moment before
// it is counted.
//
// # Concurrency
//
// A Server is safe for use by many goroutines and starts none. Settings are an immutable snapshot that each
// request reads once. All time comes from package time, so a Server runs under testing/synctest. Everything
// kept is bounded: bodies by MaxBodyBytes, prompt counters by MaxPrompts, counted faults by MaxCountedFaults,
// holds by MaxHolds, the queue by Config.MaxQueue.
package sim

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// MaxBodyBytes bounds a request's body; a longer one is answered with 413.
const MaxBodyBytes = 32 << 20

// Server is the simulated model server.
type Server struct {
	mux       *http.ServeMux
	endpoints []*endpoint
	started   time.Time

	configuring sync.Mutex // held while settings change, so that two changes never mix
	settings    atomic.Pointer[settings]

	sequence atomic.Int64 // number of the latest inference request
	limiter  limiter
	gate     gate
	holds    holds
	counted  countedFaults
	tally    tally
	prompts  promptTable
	buffers  sync.Pool // of *bytes.Buffer, for bodies on the fast path

	done      chan struct{}
	closeOnce sync.Once
}

// settings is what one request sees: the configuration and what was rendered from it.
type settings struct {
	config Config
	fast   map[string]*fastAnswer // by path; nil unless Config.Fast
}

// New returns a Server with cfg, defaults filled in. It starts nothing.
func New(cfg Config) (*Server, error) {
	s := &Server{
		mux:     http.NewServeMux(),
		started: time.Now(),
		done:    make(chan struct{}),
	}
	s.buffers.New = func() any { return new(bytes.Buffer) }
	s.endpoints = []*endpoint{
		{path: "/v1/chat/completions", dialect: openAI{}, decode: decodeChat},
		{path: "/v1/completions", dialect: openAI{}, decode: decodeCompletion},
		{path: "/v1/embeddings", dialect: openAI{}, decode: decodeEmbedding},
		{path: "/v1/rerank", dialect: openAI{}, decode: decodeRerank},
		{path: "/v2/rerank", dialect: openAI{}, decode: decodeRerank}, // Cohere's
		{path: "/v1/responses", dialect: responses{}, decode: decodeResponse},
		{path: "/v1/messages", dialect: anthropic{}, decode: decodeMessage},
		{path: "/v1/messages/count_tokens", dialect: anthropic{}, decode: decodeTokenCount},
		{path: geminiPath, dialect: gemini{}, decodeAt: decodeGemini},
		{path: bedrockPath, dialect: bedrock{}, decodeAt: decodeConverse},
	}
	s.route()
	s.Reset()
	if err := s.Configure(cfg); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) route() {
	for _, e := range s.endpoints {
		s.mux.HandleFunc("POST "+e.path, s.serve(e))
	}
	s.mux.HandleFunc("GET /v1/models", s.serveModels)
	s.mux.HandleFunc("GET /sim/stats", s.control(s.readStats))
	s.mux.HandleFunc("GET /sim/executions", s.control(s.readExecutions))
	s.mux.HandleFunc("POST /sim/executions", s.control(s.readManyExecutions))
	s.mux.HandleFunc("POST /sim/release", s.control(s.release))
	s.mux.HandleFunc("POST /sim/reset", s.control(s.reset))
	s.mux.HandleFunc("GET /sim/config", s.control(s.readConfig))
	s.mux.HandleFunc("PUT /sim/config", s.control(s.replaceConfig))
	s.mux.HandleFunc("PATCH /sim/config", s.control(s.patchConfig))
	s.mux.HandleFunc("/", s.serveUnknown)
}

// ServeHTTP answers one request. It panics with http.ErrAbortHandler, which net/http understands as "cut the
// connection", for a disconnect fault and for a request that was still waiting when the server closed.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if fast := s.settings.Load().fast; fast != nil && r.Method == http.MethodPost {
		if answer, ok := fast[r.URL.Path]; ok && s.serveFast(w, r, answer) {
			return
		}
	}
	s.mux.ServeHTTP(w, r)
}

// Config returns the settings in force.
func (s *Server) Config() Config {
	return s.settings.Load().config.clone()
}

// Configure replaces the settings. Requests under way keep those they began with; a limit that did not change
// keeps what was used of it; waiting requests are admitted at once if there are more slots now.
func (s *Server) Configure(cfg Config) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	return s.apply(cfg)
}

// apply needs s.configuring.
func (s *Server) apply(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("configure sim: %w", err)
	}
	cfg = cfg.withDefaults()
	next := &settings{config: cfg}
	if cfg.Fast {
		fast, err := s.renderFast(cfg)
		if err != nil {
			return fmt.Errorf("configure sim: %w", err)
		}
		next.fast = fast
	}
	s.settings.Store(next)
	s.limiter.configure(time.Now(), rates{
		requests: cfg.RequestsPerMinute,
		input:    cfg.InputTokensPerMinute,
		output:   cfg.OutputTokensPerMinute,
	})
	s.gate.resize(cfg.Slots, cfg.MaxQueue)
	return nil
}

// Stats returns what was served since the start or the latest reset.
func (s *Server) Stats() Stats {
	stats := s.tally.snapshot()
	stats.Prompts = s.prompts.stats()
	return stats
}

// Executions reports how often a prompt (the last user message, exactly) reached the model and how often it was
// answered.
func (s *Server) Executions(prompt string) Executions {
	return s.prompts.executions(keyOf(prompt))
}

// Release lets go the requests that wait on a hold, and those that will name it later. It fails when there are more than
// MaxHolds.
func (s *Server) Release(name string) error { return s.holds.release(name) }

// Reset forgets counters, used limits, holds and request numbers, as if the server had just started. Settings stay,
// and requests in flight stay counted as such.
func (s *Server) Reset() {
	s.sequence.Store(0)
	s.limiter.refill(time.Now())
	s.counted.reset()
	s.tally.reset()
	s.prompts.reset()
	s.holds.reset()
}

// Close ends every request that waits, hanging ones included, by cutting its connection. Call it before
// http.Server.Shutdown, which waits for handlers to return. It may be called more than once.
func (s *Server) Close() {
	s.closeOnce.Do(func() { close(s.done) })
}
