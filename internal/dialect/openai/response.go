package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/body"
	"penstock/internal/dialect"
)

// ResponseOptions are the members of a response's body that are for Penstock and not for the upstream.
type ResponseOptions struct {
	StoreGiven   bool // the caller says whether the response is to be kept
	Stored       bool // and wants it
	Background   bool
	Stream       bool
	Previous     string // the id of the response that it continues, "" for none
	Conversation string // the id of its conversation, "" for none
	Items        []jsontext.Value
}

// ReadOptions reads how a response is to be run and kept, and its input. Everything else in the body is for [ReadResponse]. Codes:
// invalid_request.
func ReadOptions(text []byte) (o ResponseOptions, err error) {
	f, err := dialect.Scan(text, ResponseFormat)
	if err != nil {
		return o, err
	}
	o = ResponseOptions{StoreGiven: f.Given("store"), Stored: f.Bool("store"), Background: f.Bool("background"), Stream: f.Bool("stream")}
	if f.Given(previous) {
		o.Previous = f.String(previous)
	}
	if f.Given(conversation) {
		o.Conversation = conversationID(f)
	}
	switch {
	case o.Background && o.StoreGiven && !o.Stored:
		f.Refuse("store", "store is false, but a response in the background is kept until it was fetched; leave store out.")
	case o.Previous != "" && o.Conversation != "":
		f.Refuse(conversation, "conversation and %s cannot be given together; leave one of them out.", previous)
	}
	if err := f.Err(); err != nil {
		return o, err
	}
	o.Items, err = InputItems(f.Raw("input"))
	return o, err
}

// conversationID reads the conversation of a response: its id, or an object that has it.
func conversationID(f *dialect.Fields) string {
	raw := f.Raw(conversation)
	if raw[0] != '{' {
		return f.String(conversation)
	}
	id := ""
	if o, err := body.Scan(raw); err == nil {
		id, _ = o.String("id")
	}
	if id == "" {
		f.Refuse(conversation, "conversation must be the id of a conversation, or an object with the member id.")
	}
	return id
}

// OneAnswer is a body for a job: the upstream keeps nothing, see [Unkept], and answers in one piece.
func OneAnswer(text []byte) ([]byte, error) {
	text, err := Unkept(text)
	if err != nil {
		return nil, err
	}
	o, err := body.Scan(text)
	if err != nil {
		return nil, err
	}
	var edits []body.Edit
	for _, name := range []string{"background", "stream"} {
		if o.Value(name).Found() {
			edits = append(edits, o.Replace(name, "false"))
		}
	}
	return body.Apply(text, edits...), nil
}

// Unkept is a body with which the upstream keeps nothing. Reasoning that it does not keep it is asked to hand over, sealed, so that a
// later call can continue from it; but only if the body is about reasoning, because models that do not reason refuse the question.
func Unkept(text []byte) ([]byte, error) {
	const sealed = `"reasoning.encrypted_content"`
	o, err := body.Scan(text)
	if err != nil {
		return nil, err
	}
	edits := []body.Edit{o.Replace("store", "false")}
	if raw := jsontext.Value(o.Raw("reasoning")); raw.Kind() == '{' {
		switch include := jsontext.Value(o.Raw("include")); {
		case len(include) == 0 || include.Kind() == 'n':
			edits = append(edits, o.Replace("include", "["+sealed+"]"))
		case include.Kind() == '[' && !contains(include, sealed):
			edits = append(edits, body.Edit{At: body.Span{Start: o.Value("include").Start + 1, End: o.Value("include").Start + 1}, Text: sealed + comma(include)})
		}
	}
	return body.Apply(text, edits...), nil
}
