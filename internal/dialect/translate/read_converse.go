package translate

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	chatToConverse = &translation{
		request: converseFromChat, reader: func() reader { return &converseReader{} },
		plain: newChatWriter, streamed: newChatStream, envelope: chatError, oneCall: chatAllowsOneCall, object: chatWantsObject,
	}
	messagesToConverse = &translation{
		request: converseFromMessages, reader: func() reader { return &converseReader{} },
		plain: newMessageWriter, streamed: newMessageStream, envelope: messageError, oneCall: messageAllowsOneCall,
	}
	responsesToConverse = &translation{
		request: viaChat(chatBody.converse, sealThinking, sealRedacted), reader: func() reader { return &converseReader{} },
		plain: newResponseWriter, streamed: newResponseStream, envelope: chatError, oneCall: chatAllowsOneCall, object: responseWantsObject,
	}
)

// converseReader reads answers of Converse and ConverseStream.
type converseReader struct {
	id      string // of the upstream's request: the answer has none of its own
	begun   bool
	calling bool      // the current block is the use of a tool
	signed  signature // of the current block, which is reasoning
	end     ending
	callLimit
	notes
}

func (r *converseReader) plain(body []byte, w writer) error {
	var in converseResponse
	if err := json.Unmarshal(body, &in, lenient); err != nil || in.Output.Message == nil {
		return malformed(err, "it is not an answer of Converse")
	}
	r.begin(w)
	for i := range in.Output.Message.Content {
		if err := r.block(&in.Output.Message.Content[i], w); err != nil {
			return err
		}
	}
	r.stopped(in.StopReason)
	r.usage(in.Usage)
	return nil
}

// identify implements [identified].
func (r *converseReader) identify(id string) { r.id = id }

func (r *converseReader) begin(w writer) {
	r.begun = true
	w.begin(r.id)
}

func (r *converseReader) block(b *converseBlock, w writer) error {
	switch {
	case b.Text != nil:
		if *b.Text != "" {
			w.text(*b.Text)
		}
	case b.ToolUse != nil:
		if !r.allows(&r.notes) {
			return nil
		}
		arguments, ok := argumentsOf(b.ToolUse.Input)
		if !ok {
			return malformed(nil, "the arguments of a tool call are not a JSON object")
		}
		w.call(portableID(b.ToolUse.ToolUseID), b.ToolUse.Name)
		w.arguments(arguments)
	case b.Reasoning != nil:
		r.reasoning(b.Reasoning, w)
	default:
		r.lose("content")
	}
	return nil
}

func (r *converseReader) reasoning(b *converseReasoning, w writer) {
	if b.ReasoningText == nil {
		r.redacted(b.RedactedContent, w)
		return
	}
	if b.ReasoningText.Text != "" {
		w.thought(b.ReasoningText.Text)
	}
	r.signed.add(b.ReasoningText.Signature)
	r.close(w)
}

// redacted is reasoning that is encrypted.
func (r *converseReader) redacted(data string, w writer) {
	if !sealTo(w, sealed{Kind: sealRedacted, Data: data}) {
		r.lose("redactedContent")
	}
}

// close ends a block.
func (r *converseReader) close(w writer) {
	sealTo(w, sealed{Kind: sealThinking, Data: r.signed.take(&r.notes)})
}

func (r *converseReader) event(data []byte, w writer) error {
	var ev converseEvent
	if err := json.Unmarshal(data, &ev, lenient); err != nil {
		return malformed(err, "an event is not one of ConverseStream")
	}
	if ev.MessageStart != nil {
		if r.begun {
			return malformed(nil, "it begins twice")
		}
		r.begin(w)
		return nil
	}
	if !r.begun && (ev.ContentBlockStart != nil || ev.ContentBlockDelta != nil || ev.MessageStop != nil) {
		return malformed(nil, "it says something before it begins")
	}
	r.part(&ev, w)
	return nil
}

// part reads an event between the first and the last.
func (r *converseReader) part(ev *converseEvent, w writer) {
	switch {
	case ev.ContentBlockStop != nil:
		r.close(w)
	case ev.ContentBlockStart != nil:
		r.close(w)
		use := ev.ContentBlockStart.Start.ToolUse
		if r.calling = use != nil && r.allows(&r.notes); r.calling {
			w.call(portableID(use.ToolUseID), use.Name)
		}
	case ev.ContentBlockDelta != nil:
		r.delta(ev, w)
	case ev.MessageStop != nil:
		r.stopped(ev.MessageStop.StopReason)
	case ev.Metadata != nil:
		r.usage(ev.Metadata.Usage)
	}
}

func (r *converseReader) delta(ev *converseEvent, w writer) {
	delta := &ev.ContentBlockDelta.Delta
	if delta.Text != "" {
		w.text(delta.Text)
	}
	if delta.ToolUse != nil && delta.ToolUse.Input != "" && r.calling {
		w.arguments(delta.ToolUse.Input)
	}
	if t := delta.Reasoning; t != nil {
		r.signed.add(t.Signature)
		if t.Text != "" {
			w.thought(t.Text)
		} else if t.Redacted != "" {
			r.redacted(string(t.Redacted), w)
		}
	}
	if delta.Citation {
		r.lose("citations")
	}
}

// usage takes over the latest counts.
func (r *converseReader) usage(raw jsontext.Value) {
	var u converseUsage
	if !isSet(raw) || json.Unmarshal(raw, &u, lenient) != nil {
		return
	}
	if min(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheWriteInputTokens) < 0 {
		return
	}
	r.end.usage = tokens{input: u.InputTokens, cacheRead: u.CacheReadInputTokens, cacheWrite: u.CacheWriteInputTokens, output: u.OutputTokens}
}

// stopped reads a stop reason, most of which are those of messages.
func (r *converseReader) stopped(word string) {
	switch word {
	case "":
	case "guardrail_intervened", "content_filtered":
		r.end.stop = stopRefusal
	default:
		r.end.stop = stopFromMessage(word)
	}
}

func (r *converseReader) ending() (ending, error) {
	if !r.begun {
		return ending{}, malformed(nil, "it does not begin")
	}
	return r.end, nil
}
