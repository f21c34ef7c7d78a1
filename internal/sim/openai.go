package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// openAI is the dialect of OpenAI and the many servers that speak it.
type openAI struct{}

var openAIErrors = [classCount]wireError{
	classBadRequest:       {status: 400, kind: "invalid_request_error"},
	classMissingParameter: {status: 400, kind: "invalid_request_error", code: "missing_required_parameter"},
	classContextLength:    {status: 400, kind: "invalid_request_error", code: "context_length_exceeded"},
	classContentFilter:    {status: 400, kind: "invalid_request_error", code: "content_filter"},
	classAuth:             {status: 401, kind: "invalid_request_error", code: "invalid_api_key"},
	classModelNotFound:    {status: 404, kind: "invalid_request_error", code: "model_not_found"},
	classNoRoute:          {status: 404, kind: "invalid_request_error", code: "unknown_url"},
	classTooLarge:         {status: 413, kind: "invalid_request_error", code: "request_too_large"},
	classRequestRate:      {status: 429, kind: "requests", code: "rate_limit_exceeded"},
	classTokenRate:        {status: 429, kind: "tokens", code: "rate_limit_exceeded"},
	classOversized:        {status: 429, kind: "tokens", code: "rate_limit_exceeded"},
	classForbidden:        {status: 403},
	classQuota:            {status: 429, kind: "insufficient_quota", code: "insufficient_quota"},
	classServerError:      {status: 500, kind: "server_error"},
	classOverloaded:       {status: 503, kind: "server_error", code: "overloaded"},
}

type openAIEnvelope struct {
	Error openAIError `json:"error"`
}

type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (openAI) check(h http.Header, key string) error {
	if key != "" && presentedKey(h) != key {
		return wrongKey()
	}
	return nil
}

// presentedKey reads the key from either of the places where SDKs put it.
func presentedKey(h http.Header) string {
	if key := h.Get("x-api-key"); key != "" {
		return key
	}
	key, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return key
}

func (openAI) requestIDHeader() string { return "x-request-id" }

func (openAI) describe(f *failure, _ string) (int, []byte) {
	wire := openAIErrors[f.class]
	return wire.status, encode(openAIEnvelope{Error: openAIError{
		Message: f.message,
		Type:    wire.kind,
		Param:   nullable(f.param),
		Code:    nullable(wire.code),
	}})
}

func (d openAI) errorEvent(f *failure, requestID string) []byte {
	_, body := d.describe(f, requestID)
	return dataEvent(body)
}

func (openAI) setLimits(h http.Header, q quota, retryAfter time.Duration) {
	set := func(what string, g gauge) {
		if g.limit == 0 {
			return
		}
		h.Set("x-ratelimit-limit-"+what, strconv.Itoa(g.limit))
		h.Set("x-ratelimit-remaining-"+what, strconv.Itoa(g.remaining))
		h.Set("x-ratelimit-reset-"+what, wireDuration(g.reset))
	}
	set("requests", q.requests)
	set("tokens", q.tokens())
	if retryAfter > 0 {
		h.Set("retry-after", wholeSeconds(retryAfter))
		h.Set("retry-after-ms", strconv.FormatInt(ceilTo(retryAfter, time.Millisecond).Milliseconds(), 10))
	}
}

// dataEvent is a server-sent event without a name.
func dataEvent(body []byte) []byte {
	return append(append([]byte("data: "), body...), "\n\n"...)
}

func doneEvent() []byte { return dataEvent([]byte("[DONE]")) }

// nullable turns "" into a JSON null.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// required is the failure for a parameter that is not there.
func required(param string) error {
	return &failure{class: classMissingParameter, param: param, message: "Missing required parameter: '" + param + "'."}
}

// openAIUsage is a token count in the dialect's long form.
type openAIUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens,omitzero"` // reported by some compatible servers
		AudioTokens      int `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens          int `json:"reasoning_tokens"`
		AudioTokens              int `json:"audio_tokens"`
		AcceptedPredictionTokens int `json:"accepted_prediction_tokens"`
		RejectedPredictionTokens int `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

func (a *answer) openAIUsage() openAIUsage {
	u := openAIUsage{
		PromptTokens:     a.reported(a.inputTokens),
		CompletionTokens: a.reported(a.outputTokens),
		TotalTokens:      a.reported(a.inputTokens + a.outputTokens),
	}
	in, out := &u.PromptDetails, &u.CompletionDetails
	in.CachedTokens, in.CacheWriteTokens, in.AudioTokens = a.parts.cached, a.parts.written+a.parts.written1h, a.parts.audioInput
	out.ReasoningTokens, out.AudioTokens = a.parts.reasoning, a.parts.audioOutput
	return u
}

// finishReason is why the choice ended, in the dialect's words.
func (c *choice) finishReason() *string {
	switch c.stop {
	case stopTools:
		return nullable("tool_calls")
	case stopLength:
		return nullable("length")
	}
	return nullable("stop")
}

// streamOptions is a request's wish about its stream.
type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// generation is what chat completions and completions have in common.
type generation struct {
	Model         string         `json:"model"`
	MaxTokens     *int           `json:"max_tokens"`
	N             *int           `json:"n"`
	Temperature   *float64       `json:"temperature"`
	Stop          stopList       `json:"stop"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options"`
}

func (g *generation) validate() error {
	switch {
	case g.Model == "":
		return required("model")
	case g.MaxTokens != nil && *g.MaxTokens < 1:
		return invalid("max_tokens", "Invalid 'max_tokens': expected a value of at least 1.")
	case g.N != nil && (*g.N < 1 || *g.N > maxChoices):
		return invalid("n", fmt.Sprintf("Invalid 'n': expected a value between 1 and %d.", maxChoices))
	case g.Temperature != nil && (*g.Temperature < 0 || *g.Temperature > 2):
		return invalid("temperature", "Invalid 'temperature': expected a value between 0 and 2.")
	case g.StreamOptions != nil && !g.Stream:
		return invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	return g.Stop.check("stop", maxStopsOpenAI)
}

// maxChoices bounds the choices of one answer.
const maxChoices = 128

// choices is how many alternatives the request asks for.
func (g *generation) choices() int {
	if g.N == nil {
		return 1
	}
	return *g.N
}

func (g *generation) includeUsage() bool {
	return g.StreamOptions != nil && g.StreamOptions.IncludeUsage
}
