package telemetry

import (
	"go.opentelemetry.io/otel/attribute"

	"penstock"
)

// The attributes that OpenTelemetry's conventions define for calls of models. They are spelled out because
// its Go module no longer carries them: the conventions for generative AI are kept apart and still move.
const (
	keyOperation     = "gen_ai.operation.name"
	keyProvider      = "gen_ai.provider.name"
	keyRequestModel  = "gen_ai.request.model"
	keyResponseModel = "gen_ai.response.model"
	keyInputTokens   = "gen_ai.usage.input_tokens"
	keyCachedTokens  = "gen_ai.usage.cache_read.input_tokens"
	keyWriteTokens   = "gen_ai.usage.cache_creation.input_tokens"
	keyOutputTokens  = "gen_ai.usage.output_tokens"
	keyFinishReasons = "gen_ai.response.finish_reasons"
	keyErrorType     = "error.type"
)

// The operations that the conventions know.
const (
	OperationChat       = "chat"
	OperationCompletion = "text_completion"
	OperationEmbeddings = "embeddings"
	OperationRerank     = "rerank" // which the conventions leave to us
)

// OperationOf is the operation of a call of an endpoint.
func OperationOf(e penstock.Endpoint) string {
	switch e {
	case penstock.EndpointEmbeddings:
		return OperationEmbeddings
	case penstock.EndpointRerank:
		return OperationRerank
	case penstock.EndpointCompletions:
		return OperationCompletion
	}
	return OperationChat
}

// GenAI describes a call of a model, as the conventions for generative AI ask for it. Empty fields are
// left out. The messages that the conventions would allow have no field: payloads stay out of traces.
type GenAI struct {
	Operation     string // such as [OperationChat]
	Provider      string // such as openai or anthropic
	RequestModel  string // the upstream model that was asked for
	ResponseModel string // the one that answered
	Usage         penstock.Usage
	FinishReasons []string
	ErrorType     string // the error's kind; it marks the span as failed
}

// SpanName is the name that the conventions give to the call's span.
func (g GenAI) SpanName() string {
	if g.RequestModel == "" {
		return g.Operation
	}
	return g.Operation + " " + g.RequestModel
}

// SetGenAI adds what is known about a call of a model. It may be called when the call starts and again
// when its answer is known.
func (s Span) SetGenAI(g GenAI) {
	if !s.recording() {
		return
	}
	s.span.SetAttributes(g.attributes()...)
	if g.ErrorType != "" {
		s.Fail(g.ErrorType)
	}
}

func (g GenAI) attributes() []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 8)
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attribute.String(key, value))
		}
	}
	tokens := func(key string, n int64) {
		if n > 0 {
			attrs = append(attrs, attribute.Int64(key, n))
		}
	}
	text(keyOperation, g.Operation)
	text(keyProvider, g.Provider)
	text(keyRequestModel, g.RequestModel)
	text(keyResponseModel, g.ResponseModel)
	tokens(keyInputTokens, g.Usage.InputTokens)
	tokens(keyCachedTokens, g.Usage.CachedInputTokens)
	tokens(keyWriteTokens, g.Usage.CacheWriteTokens)
	tokens(keyOutputTokens, g.Usage.OutputTokens)
	if len(g.FinishReasons) > 0 {
		attrs = append(attrs, attribute.StringSlice(keyFinishReasons, g.FinishReasons))
	}
	return attrs
}
