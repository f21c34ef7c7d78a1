// Package translate translates inferences between dialects, plain and streamed: OpenAI's chat completions and Anthropic's
// messages into each other, OpenAI's responses into both, and all three into the dialects that only upstreams have, Gemini's and Bedrock's.
//
// The body of a response becomes a chat completion, and from there a message: each step is written once.
//
// Bodies for Gemini and Bedrock are made from one form, the pivot, which is that of a message: there is one reader for
// each dialect of callers and one writer for each dialect of upstreams.
//
// It owns the meaning of bodies and answers in these dialects, and nothing else: it opens no
// connection, chooses no target, counts no money and starts no goroutine. A call whose upstream uses the
// caller's dialect is not translated; its bytes are forwarded unchanged.
//
// Invariants:
//   - Nothing is lost silently. A member that the other dialect cannot express is refused if the answer
//     would have another meaning without it, and otherwise named as dropped. The tables in rule.go have
//     the choice for each member; docs/decisions/0012-translation.md gives the reasons.
//   - Every attempt translates the caller's original bytes, not the translation of an earlier attempt.
//   - The same bytes of an upstream's stream give the same answer, however they are cut into chunks.
//   - A stream that broke off stays broken: the closing events of the caller's dialect are written only
//     after the upstream's answer was complete.
//   - The memory of a translation is bounded, whatever the upstream sends.
//
// Translations are safe for concurrent use; an answer belongs to one goroutine.
package translate

import (
	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/provider"
)

// Translation translates calls of one dialect for upstreams of another.
type Translation interface {
	// Request translates the body of a call; the body itself is not changed. Members that the other dialect
	// cannot express are named in dropped, as paths such as tools[].cache_control, if the answer means the same
	// without them; otherwise they are an error. Codes: invalid_request, with the field.
	Request(body []byte, to dialect.Upstream) (translated []byte, dropped []string, err error)
	// Answer reads an upstream's answer and returns it in the caller's dialect: as a stream if the caller
	// asked for one, else in one piece, whatever form the upstream's answer has. Errors of the upstream's answer
	// are returned unchanged; an answer that breaks the upstream's protocol is malformed. Closing the returned
	// answer closes the upstream's.
	Answer(upstream provider.Answer, asked dialect.Asked) provider.Answer
	// Error is an upstream's failure with its body, if there is one, in the caller's dialect. The error
	// given is not changed.
	Error(failure *provider.Error) *provider.Error
}

// For returns the translation of calls from one endpoint's dialect to another's, and false if there is
// none.
func For(from, to penstock.Endpoint) (Translation, bool) {
	t, ok := translations[[2]penstock.Endpoint{from, to}]
	return t, ok
}

// translations are all, by the dialect of the caller and that of the upstream.
var translations = map[[2]penstock.Endpoint]Translation{
	{penstock.EndpointChat, penstock.EndpointMessages}:             chatToMessages,
	{penstock.EndpointMessages, penstock.EndpointChat}:             messagesToChat,
	{penstock.EndpointResponses, penstock.EndpointChat}:            responsesToChat,
	{penstock.EndpointResponses, penstock.EndpointMessages}:        responsesToMessages,
	{penstock.EndpointChat, penstock.EndpointGenerate}:             chatToGemini,
	{penstock.EndpointMessages, penstock.EndpointGenerate}:         messagesToGemini,
	{penstock.EndpointEmbeddings, penstock.EndpointEmbedContents}:  embeddingsToGemini,
	{penstock.EndpointCountTokens, penstock.EndpointCountContents}: countToGemini,
	{penstock.EndpointRerank, penstock.EndpointRank}:               rerankToRank,
	{penstock.EndpointChat, penstock.EndpointConverse}:             chatToConverse,
	{penstock.EndpointMessages, penstock.EndpointConverse}:         messagesToConverse,
	{penstock.EndpointResponses, penstock.EndpointGenerate}:        responsesToGemini,
	{penstock.EndpointResponses, penstock.EndpointConverse}:        responsesToConverse,
}

// translation is one direction: how its requests are translated, how an upstream's answer is read and
// how the caller's is written.
type translation struct {
	request  func(body []byte, to dialect.Upstream) ([]byte, []string, error)
	reader   func() reader
	plain    func(dialect.Asked) writer
	streamed func(dialect.Asked) writer
	envelope func(failure *provider.Error) any
	// oneCall reports whether the caller's body allows one tool call at most, for upstreams that have no such limit; else nil.
	oneCall func(body []byte) bool
	// object finds the request for any JSON object, where it becomes an instruction to the model, so that the answer is checked; else nil.
	object objectMember
}

var (
	chatToMessages = &translation{
		request: messagesFromChat, reader: func() reader { return &messageReader{} },
		plain: newChatWriter, streamed: newChatStream, envelope: chatError, object: chatWantsObject,
	}
	messagesToChat = &translation{
		request: chatFromMessages, reader: func() reader { return &chatReader{} },
		plain: newMessageWriter, streamed: newMessageStream, envelope: messageError,
	}
	responsesToChat = &translation{
		request: chatFromResponse, reader: func() reader { return &chatReader{} },
		plain: newResponseWriter, streamed: newResponseStream, envelope: chatError,
	}
	responsesToMessages = &translation{
		request: viaChat(chatBody.messages, sealThinking, sealRedacted), reader: func() reader { return &messageReader{} },
		plain: newResponseWriter, streamed: newResponseStream, envelope: chatError, object: responseWantsObject,
	}
)

func (t *translation) Request(body []byte, to dialect.Upstream) (translated []byte, dropped []string, err error) {
	return t.request(body, to)
}

func (t *translation) Error(failure *provider.Error) *provider.Error {
	said := *failure
	if said.Body != nil {
		said.Body = encode(t.envelope(failure))
	}
	return &said
}
