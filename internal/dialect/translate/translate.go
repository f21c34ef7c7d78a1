// Package translate puts inferences of one dialect to upstreams that speak another: OpenAI's chat
// completions and Anthropic's messages, both ways, plain and streamed.
//
// It owns the meaning of bodies and answers in the two dialects, and nothing else: it opens no
// connection, chooses no target, counts no money and starts no goroutine. A call whose upstream speaks
// its own dialect never comes here; its bytes pass through untouched.
//
// Invariants:
//   - Nothing is lost silently. What the other dialect has no words for is refused when the answer would
//     mean something else without it, and named as dropped when it would not. The tables in rule.go say
//     which is which; docs/decisions/0012-translation.md gives the reasons.
//   - A body is translated from the caller's own bytes, so that an attempt on another target starts anew.
//   - How an upstream's stream was cut into chunks never shows: the same bytes give the same answer.
//   - A stream that broke off stays broken: the closing events of the caller's dialect are written only
//     after the upstream's answer was complete.
//   - What is held in memory is bounded, whatever the upstream sends.
//
// Translations are safe for concurrent use; an answer belongs to one goroutine.
package translate

import (
	"time"

	"penstock"
	"penstock/internal/provider"
)

// Translation puts calls of one dialect to upstreams of another.
type Translation interface {
	// Request translates the body of a call; the body itself is not changed. What could not be carried
	// without changing the meaning of the answer is named in dropped, as paths such as
	// tools[].cache_control. What would change it is an error. Where the upstream demands a bound of its answer
	// and the body sets none, it is most: what was reserved for the call. Codes: invalid_request, with the field.
	Request(body []byte, most int64) (translated []byte, dropped []string, err error)
	// Answer reads an upstream's answer and gives it in the caller's dialect: as a stream if one was asked
	// for, else in one piece, whichever way it came. Errors of the upstream's answer pass unchanged; one
	// that is not of the upstream's protocol is malformed. Closing it closes the upstream's.
	Answer(upstream provider.Answer, asked Asked) provider.Answer
	// Error is an upstream's failure with its body, if there is one, in the caller's dialect. The error
	// given is not changed.
	Error(failure *provider.Error) *provider.Error
}

// Asked is what the shape of an answer depends on.
type Asked struct {
	// Model is the name that the caller knows the model by.
	Model string
	// Stream: the caller wants events.
	Stream bool
	// IncludeUsage: the stream of a chat completion ends with a chunk of usage. Plain answers and messages
	// always tell usage.
	IncludeUsage bool
	// At is when the call came. A chat completion says it in created, a message nowhere.
	At time.Time
}

// For returns how a call in the dialect of from is put to an upstream that speaks to, and false when
// nobody can.
func For(from, to penstock.Endpoint) (Translation, bool) {
	switch {
	case from == penstock.EndpointChat && to == penstock.EndpointMessages:
		return chatToMessages, true
	case from == penstock.EndpointMessages && to == penstock.EndpointChat:
		return messagesToChat, true
	}
	return nil, false
}

// translation is one direction: how its requests are translated, how an upstream's answer is read and
// how the caller's is written.
type translation struct {
	request  func(body []byte, most int64) ([]byte, []string, error)
	reader   func() reader
	plain    func(Asked) writer
	streamed func(Asked) writer
	envelope func(failure *provider.Error) any
}

var (
	chatToMessages = &translation{
		request: messagesFromChat, reader: func() reader { return &messageReader{} },
		plain: newChatWriter, streamed: newChatStream, envelope: chatError,
	}
	messagesToChat = &translation{
		request: chatFromMessages, reader: func() reader { return &chatReader{} },
		plain: newMessageWriter, streamed: newMessageStream, envelope: messageError,
	}
)

func (t *translation) Request(body []byte, most int64) (translated []byte, dropped []string, err error) {
	return t.request(body, most)
}

func (t *translation) Error(failure *provider.Error) *provider.Error {
	said := *failure
	if said.Body != nil {
		said.Body = encode(t.envelope(failure))
	}
	return &said
}
