package translate

import (
	"cmp"
	"fmt"
	"maps"

	"penstock"
	"penstock/internal/dialect"
)

// pivot is a request in the form of a message, from which the bodies of Gemini and Bedrock are made. It has more members than a
// message where those upstreams can honour what a chat completion asks for.
type pivot struct {
	messageRequest
	notes
	bound            int64 // of the answer's tokens
	topK             *int64
	seed             *int64
	presencePenalty  *float64
	frequencyPenalty *float64
	format           outputFormat
	members          memberNames
	effort           string // how much the model shall think, in the words of chat completions; "" if a budget or nothing is set
}

// memberNames are the paths of members in the caller's body that its dialect and messages have in different places.
type memberNames struct{ user, effort, thinking, format, strict string }

var (
	chatNames = memberNames{
		user: "user", effort: "reasoning_effort", thinking: "reasoning_effort", format: "response_format", strict: "tools[].function.strict",
	}
	messageNames = memberNames{
		user: "metadata.user_id", effort: "output_config.effort", thinking: "thinking", format: "output_config.format", strict: "tools[].strict",
	}
)

// in is the path of a block in the caller's body, for a block at the given path of the pivot.
func (b *block) in(where string) string { return cmp.Or(b.path, where) }

// sourcePath is the path of an image or a document within the block at the given path of the caller's body.
func (b *block) sourcePath(where string) string {
	switch {
	case b.path == "":
		return where + ".source"
	case b.Type == "image":
		return where + ".image_url"
	}
	return where + ".file"
}

// titlePath is the path of a document's title.
func (b *block) titlePath(where string) string {
	if b.path == "" {
		return where + ".title"
	}
	return where + ".file.filename"
}

// pivotRules are the rules for one upstream.
type pivotRules struct {
	chat, message rules
	prefill       bool // messages may end with the beginning of the answer, which the upstream continues as Anthropic's API does
}

// pivotChat are the members of a chat completion that a message does not have.
type pivotChat struct {
	Seed             *int64   `json:"seed"`
	PresencePenalty  *float64 `json:"presence_penalty"`
	FrequencyPenalty *float64 `json:"frequency_penalty"`
}

// pivotFromChat reads the body of a chat completion.
func pivotFromChat(c chatBody, to dialect.Upstream, r pivotRules) (*pivot, error) {
	var in chatRequest
	t := &messageBuilder{most: to.MaxOutputTokens, thoughts: c.thoughts}
	object, err := r.chat.decode(c.text, &in, &t.notes)
	if err != nil {
		return nil, err
	}
	if err := t.conversation(in); err != nil {
		return nil, err
	}
	if in.StreamOptions != nil {
		t.dropUnknown("stream_options", in.StreamOptions.Unknown)
	}
	if err := t.tools(in); err != nil {
		return nil, err
	}
	var further pivotChat
	if err := decodeStrictly(c.text, &further); err != nil {
		return nil, err
	}
	bound, err := boundOf(penstock.EndpointChat, object)
	if err != nil {
		return nil, err
	}
	if bound == 0 {
		bound = to.MaxOutputTokens
	}
	format, err := t.chatFormat(in.ResponseFormat)
	if err != nil {
		return nil, err
	}
	return &pivot{
		messageRequest: t.out, notes: t.notes, bound: bound, format: format, seed: further.Seed, effort: in.ReasoningEffort, members: chatNames,
		presencePenalty: further.PresencePenalty, frequencyPenalty: further.FrequencyPenalty,
	}, nil
}

// pivotFromMessages reads the body that asks for a message.
func pivotFromMessages(text []byte, r pivotRules) (*pivot, error) {
	p := &pivot{members: messageNames}
	object, err := r.message.decode(text, &p.messageRequest, &p.notes)
	if err != nil {
		return nil, err
	}
	var further struct {
		TopK *int64 `json:"top_k"`
	}
	if err := decodeStrictly(text, &further); err != nil {
		return nil, err
	}
	p.topK = further.TopK
	if p.bound, err = boundOf(penstock.EndpointMessages, object); err != nil {
		return nil, err
	}
	if p.bound == 0 {
		name := dialect.OutputMembers(penstock.EndpointMessages)[0]
		return nil, penstock.InvalidParam(name, "%s must be at least 1.", name)
	}
	if len(p.Messages) == 0 {
		return nil, penstock.InvalidParam("messages", "messages must have at least one message.")
	}
	for i, m := range p.Messages {
		where := fmt.Sprintf("messages[%d]", i)
		p.dropUnknown(where, m.Unknown)
		if m.Role != "user" && m.Role != "assistant" {
			return nil, penstock.InvalidParam(where+".role", "%s.role must be user or assistant.", where)
		}
	}
	if !r.prefill {
		if err := endsWithUser(p.Messages[len(p.Messages)-1].Role, otherTarget); err != nil {
			return nil, err
		}
	}
	return p, p.messageOptions()
}

// messageOptions reads the options of a message that need a conversion.
func (p *pivot) messageOptions() error {
	for i, tool := range p.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		if tool.Type != "custom" && tool.Type != "" {
			return untranslatable(at+".type", "Only tools that the caller runs can be carried.")
		}
		if err := (toolPlace{at, "input_schema"}).check(tool.Name, tool.InputSchema); err != nil {
			return err
		}
	}
	if p.Metadata != nil {
		p.dropUnknown("metadata", p.Metadata.Unknown)
	}
	if p.ToolChoice != nil {
		p.dropUnknown("tool_choice", p.ToolChoice.Unknown)
	}
	if err := p.ToolChoice.check(p.Tools); err != nil {
		return err
	}
	if err := p.checkThinking(); err != nil {
		return err
	}
	if err := checkTemperature(p.Temperature, "messages"); err != nil {
		return err
	}
	if p.OutputConfig == nil {
		return nil
	}
	p.dropUnknown("output_config", p.OutputConfig.Unknown)
	p.effort = p.OutputConfig.Effort
	var err error
	p.format, err = p.messageFormat(p.OutputConfig.Format)
	return err
}

// budget is how many tokens the model may think: known is false if nothing is set, and then the upstream decides.
func (p *pivot) budget() (tokens int64, known bool, err error) {
	if p.Thinking != nil {
		p.dropUnknown("thinking", p.Thinking.Unknown)
		switch p.Thinking.Type {
		case "enabled":
			return p.Thinking.BudgetTokens, true, nil
		case "disabled":
			return 0, true, nil
		}
	}
	if p.effort == "" {
		return 0, false, nil
	}
	if p.effort == "max" && p.members.effort == messageNames.effort { // the highest effort, which chat completions do not have
		return efforts[len(efforts)-1].budget, true, nil
	}
	for _, e := range efforts {
		if e.word == p.effort {
			return e.budget, true, nil
		}
	}
	return 0, false, penstock.InvalidParam(p.members.effort, "%s must be none, minimal, low, medium, high or xhigh.", p.members.effort)
}

// with are rules with some others in their place.
func (r rules) with(others rules) rules {
	all := maps.Clone(r)
	maps.Copy(all, others)
	return all
}
