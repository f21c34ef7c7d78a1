package api

import (
	"net/http"

	"penstock"
	"penstock/internal/dialect/anthropic"
	"penstock/internal/rest"
)

// responsesWording is OpenAI's format for responses, whose stream events have a type.
var responsesWording = rest.Wording{
	ErrorType: rest.UsualErrorType, Envelope: rest.UsualEnvelope, Event: []byte("error"),
	InStream: func(e rest.ErrorBody) any {
		return responseErrorView{Type: "error", Code: e.Code, Message: e.Message, Param: e.Param, Error: e}
	},
}

// anthropicWording is Anthropic's.
var anthropicWording = rest.Wording{
	ErrorType: anthropic.ErrorType, Envelope: anthropicEnvelope, InStream: anthropicEnvelope,
	Event: []byte("error"), RequestID: "Request-Id",
}

func anthropicEnvelope(e rest.ErrorBody) any {
	if e.Param != nil && *e.Param == paramThread {
		view := threadErrorView{Type: "error", RequestID: e.RequestID}
		view.Error.ErrorBody = e
		view.Error.Details = threadDetails{"thread_unsupported_request", []string{paramThread}}
		return view
	}
	return typedErrorView{Type: "error", Error: e, RequestID: e.RequestID}
}

// responseErrorView is an error in the stream of a response. SDKs raise the member error; other clients read the
// members that the protocol defines for the event. The end response.failed says the same, but not every client reads it: LangChain
// takes the text so far for the whole answer.
type responseErrorView struct {
	Type    string         `json:"type"`
	Number  int            `json:"sequence_number"`
	Code    penstock.Code  `json:"code"`
	Message string         `json:"message"`
	Param   *string        `json:"param"`
	Error   rest.ErrorBody `json:"error"`
}

// typedErrorView is Anthropic's envelope of an error.
type typedErrorView struct {
	Type      string         `json:"type"`
	Error     rest.ErrorBody `json:"error"`
	RequestID string         `json:"request_id"`
}

// paramThread is the member of a message that asks the service to keep the conversation.
const paramThread = "thread"

// threadErrorView is the envelope of an error about threads. Its details make Anthropic's SDKs send all messages of the
// conversation with every request, as their loops of tools do without threads.
type threadErrorView struct {
	Type  string `json:"type"`
	Error struct {
		rest.ErrorBody
		Details threadDetails `json:"details"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

type threadDetails struct {
	ErrorCode   string   `json:"error_code"`
	Unsupported []string `json:"unsupported"`
}

// dialectOf returns the wording of a path that both dialects have: Anthropic's for a caller that sends its header.
func dialectOf(r *http.Request) *rest.Wording {
	if r.Header.Get(anthropic.HeaderVersion) != "" {
		return &anthropicWording
	}
	return &rest.Usual
}

// anthropic reports whether the caller is answered in Anthropic's dialect.
func (c *call) anthropic() bool { return c.Words == &anthropicWording }
