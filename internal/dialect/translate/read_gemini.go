package translate

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	chatToGemini = &translation{
		request: geminiFromChat, reader: func() reader { return &geminiReader{} },
		plain: newChatWriter, streamed: newChatStream, envelope: chatError, oneCall: chatAllowsOneCall,
	}
	messagesToGemini = &translation{
		request: geminiFromMessages, reader: func() reader { return &geminiReader{} },
		plain: newMessageWriter, streamed: newMessageStream, envelope: messageError, oneCall: messageAllowsOneCall,
	}
	responsesToGemini = &translation{
		request: viaChat(chatBody.gemini, sealPart, sealEnd), reader: func() reader { return &geminiReader{} },
		plain: newResponseWriter, streamed: newResponseStream, envelope: chatError, oneCall: chatAllowsOneCall,
	}
)

// geminiReader reads answers of generateContent. A stream is a list of answers, each with the next parts. Only the first candidate is
// read: more cannot be asked for.
type geminiReader struct {
	begun bool
	id    string
	end   ending
	calls int
	callLimit
	notes
	speaking bool // the last part was text
}

func (r *geminiReader) plain(body []byte, w writer) error {
	var in geminiResponse
	if err := json.Unmarshal(body, &in, lenient); err != nil {
		return malformed(err, "it is not an answer of generateContent")
	}
	return r.read(&in, w)
}

func (r *geminiReader) event(data []byte, w writer) error {
	var in geminiResponse
	if err := json.Unmarshal(data, &in, lenient); err != nil {
		return malformed(err, "an event is not a part of generateContent")
	}
	return r.read(&in, w)
}

func (r *geminiReader) read(in *geminiResponse, w writer) error {
	if isSet(in.Error) {
		return upstreamSaid(in.Error)
	}
	if !r.begun {
		r.begun, r.id = true, in.ResponseID
		w.begin(in.ResponseID)
	}
	r.usage(in.UsageMetadata)
	for i := range in.Candidates {
		c := &in.Candidates[i]
		if c.Index != 0 {
			r.lose("candidates")
			continue
		}
		if c.Grounding {
			r.lose("groundingMetadata")
		}
		for j := range c.Content.Parts {
			if err := r.part(&c.Content.Parts[j], w); err != nil {
				return err
			}
		}
		if c.FinishReason != "" {
			r.end.stop = stopFromGemini(c.FinishReason)
		}
	}
	return nil
}

func (r *geminiReader) part(p *geminiPart, w writer) error {
	if p.FunctionCall != nil && !r.allows(&r.notes) {
		return nil
	}
	said := p.Text != nil && *p.Text != "" && !p.Thought
	// A signature belongs to its part. Within a text, and behind it, it has to wait for the end of the text.
	first := p.FunctionCall != nil || said && !r.speaking
	if first && p.ThoughtSignature != unsigned {
		sealTo(w, sealed{Kind: sealPart, Data: p.ThoughtSignature})
	}
	r.speaking = said || r.speaking && p.FunctionCall == nil && !p.Thought
	switch {
	case p.FunctionCall != nil:
		return r.call(p.FunctionCall, w)
	case p.Text == nil:
		if len(p.Unknown) > 0 || p.InlineData != nil || p.FileData != nil {
			r.lose("parts")
		}
	case said:
		w.text(*p.Text)
	case *p.Text != "":
		w.thought(*p.Text)
	}
	if !first {
		sealTo(w, sealed{Kind: sealEnd, Data: p.ThoughtSignature})
	}
	return nil
}

// call reads the call of a function, which is never in parts. Most answers give it no id.
func (r *geminiReader) call(c *geminiCall, w writer) error {
	arguments, ok := argumentsOf(c.Args)
	if !ok || c.Name == "" {
		return malformed(nil, "the call of a function has no name, or arguments that are no object")
	}
	r.calls++
	id := c.ID
	if id == "" {
		id = r.id + "#" + strconv.Itoa(r.calls)
	}
	w.call(portableID(id), c.Name)
	w.arguments(arguments)
	return nil
}

// usage takes over the latest counts.
func (r *geminiReader) usage(raw jsontext.Value) {
	var u geminiUsage
	if !isSet(raw) || json.Unmarshal(raw, &u, lenient) != nil {
		return
	}
	if min(u.PromptTokenCount, u.CachedContentTokenCount, u.ToolUsePromptTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount) < 0 {
		return
	}
	r.end.usage = tokens{
		input: max(0, plus(u.PromptTokenCount, u.ToolUsePromptTokenCount)-u.CachedContentTokenCount), cacheRead: u.CachedContentTokenCount,
		output: plus(u.CandidatesTokenCount, u.ThoughtsTokenCount), reasoning: u.ThoughtsTokenCount,
	}
}

func (r *geminiReader) ending() (ending, error) {
	if !r.begun {
		return ending{}, malformed(nil, "it has no candidates")
	}
	if r.calls > 0 && r.end.stop == stopTurn {
		r.end.stop = stopTools // Gemini says STOP
	}
	return r.end, nil
}

// stopFromGemini reads a finish reason. An unknown reason means that the model was done.
func stopFromGemini(word string) stop {
	switch word {
	case "MAX_TOKENS":
		return stopLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		return stopRefusal
	}
	return stopTurn
}
