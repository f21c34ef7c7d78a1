package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Sizes in the token count: a token is four bytes of text.
const (
	bytesPerToken   = 4
	attachmentBytes = 256 * bytesPerToken // an image or other part that is not text
)

// prompt is what a model is asked, whichever dialect it came in.
type prompt struct {
	turns []turn
}

type turn struct {
	role  string
	text  string
	size  int      // in bytes, as far as token counting is concerned
	asked string   // the part of the text that is no result of a tool
	calls []string // names of the tools that it calls
	media media
}

func (p *prompt) add(role string, c content) {
	p.turns = append(p.turns, turn{
		role: role, text: c.text, size: len(c.text) + c.attachments*attachmentBytes, asked: c.asked, calls: c.calls, media: c.media,
	})
}

// question returns what the user asked last, and the names of the tools that were called since.
func (p *prompt) question() (asked string, called []string) {
	for i := len(p.turns) - 1; i >= 0; i-- {
		if t := &p.turns[i]; t.role == "user" && t.asked != "" {
			return t.asked, called
		}
		called = append(called, p.turns[i].calls...)
	}
	return "", called
}

// ordersObject reports whether the system prompt orders a JSON object, in the words of a gateway for a dialect that has no such
// format. A model mostly obeys.
func (p *prompt) ordersObject() bool {
	for i := range p.turns {
		if p.turns[i].role == "system" && strings.Contains(p.turns[i].text, "one JSON object and nothing else") {
			return true
		}
	}
	return false
}

// media is all that the prompt shows besides text.
func (p *prompt) media() media {
	var all media
	for _, t := range p.turns {
		all.add(t.media)
	}
	return all
}

// last returns the text of the last user turn: what executions are counted by and where directives are looked
// for.
func (p *prompt) last() string {
	for i := len(p.turns) - 1; i >= 0; i-- {
		if p.turns[i].role == "user" {
			return p.turns[i].text
		}
	}
	return ""
}

// all returns the texts of all turns.
func (p *prompt) all() string {
	texts := make([]string, len(p.turns))
	for i, t := range p.turns {
		texts[i] = t.text
	}
	return strings.Join(texts, "\n")
}

func (p *prompt) tokens() int {
	size := 0
	for _, t := range p.turns {
		size += t.size
	}
	return (size + bytesPerToken - 1) / bytesPerToken
}

// digest identifies the conversation for a model under a seed.
func (p *prompt) digest(seed uint64, model string) [sha256.Size]byte {
	h := sha256.New()
	var word [8]byte
	write := func(s string) { // with its length, so that no two conversations run together alike
		binary.LittleEndian.PutUint64(word[:], uint64(len(s)))
		h.Write(word[:])
		io.WriteString(h, s)
	}
	binary.LittleEndian.PutUint64(word[:], seed)
	h.Write(word[:])
	write(model)
	for _, t := range p.turns {
		write(t.role)
		write(t.text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// promptKey stands for a prompt in counters: the first half of its SHA-256, which is enough to tell prompts
// apart and halves the memory.
type promptKey [sha256.Size / 2]byte

func keyOf(text string) promptKey {
	sum := sha256.Sum256([]byte(text))
	return promptKey(sum[:len(promptKey{})])
}

// content is the text of a message: given as a string, or as a list of parts of which some may not be text.
type content struct {
	text        string
	asked       string // the part of the text that is no result of a tool
	attachments int
	calls       []string
	media       media
	parts       []contentPart // as they were given; nil for a string
}

// contentPart is a part of any dialect; each type has its own fields.
type contentPart struct {
	Type       string      `json:"type"`
	Text       *string     `json:"text"`
	Content    *content    `json:"content"`   // of an Anthropic tool_result
	Name       string      `json:"name"`      // of an Anthropic tool_use
	Thinking   string      `json:"thinking"`  // of an Anthropic thinking block
	Signature  string      `json:"signature"` // of an Anthropic thinking block
	ImageURL   address     `json:"image_url"`
	File       partFile    `json:"file"` // of a chat completion
	partFile               // of a response
	InputAudio mediaSource `json:"input_audio"`
	Source     mediaSource `json:"source"` // of an Anthropic image
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n', '"':
		err := json.UnmarshalDecode(dec, &c.text)
		c.asked = c.text
		return err
	case '[':
		var parts []contentPart
		if err := json.UnmarshalDecode(dec, &parts); err != nil {
			return err
		}
		var texts, asked []string
		for i := range parts {
			part := &parts[i]
			switch part.Type {
			case "text", "input_text", "output_text":
				texts, asked = append(texts, part.text()), append(asked, part.text())
			case "tool_result":
				if part.Content != nil {
					texts = append(texts, part.Content.text)
					c.attachments += part.Content.attachments
					c.media.add(part.Content.media)
				}
			default:
				if err := c.attach(part); err != nil {
					return err
				}
			}
		}
		c.text, c.asked, c.parts = strings.Join(texts, "\n"), strings.Join(asked, "\n"), parts
		return nil
	}
	return errors.New("content is a string or a list of parts")
}

// text is the text of a part, "" for none.
func (p *contentPart) text() string {
	if p.Text == nil {
		return ""
	}
	return *p.Text
}

// attach takes up a part that is no text.
func (c *content) attach(part *contentPart) error {
	switch part.Type {
	case "":
		return errors.New("a content part needs a type")
	case "thinking":
		if part.Signature != signature(part.Thinking) {
			return errors.New("invalid signature in thinking block")
		}
		return nil // thoughts of earlier turns are not part of the prompt
	case "redacted_thinking":
		return errors.New("invalid data in redacted_thinking block")
	case "tool_use":
		c.calls = append(c.calls, part.Name)
	case "image_url", "input_image", "image":
		c.media.addImage(part)
	default:
		c.media.files++
	}
	c.attachments++
	return nil
}

// inputs is what OpenAI's older endpoints take: a text, a list of texts, a list of token ids, or a list of
// those.
type inputs struct {
	prompt
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (in *inputs) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		if value.Kind() == '"' {
			in.add("user", content{text: text})
		}
		return nil
	}
	var texts []string
	if json.Unmarshal(value, &texts) == nil {
		for _, text := range texts {
			in.add("user", content{text: text})
		}
		return nil
	}
	var ids []int
	if json.Unmarshal(value, &ids) == nil {
		in.addTokens(ids)
		return nil
	}
	var lists [][]int
	if json.Unmarshal(value, &lists) == nil {
		for _, ids := range lists {
			in.addTokens(ids)
		}
		return nil
	}
	return errors.New("input is a text, a list of texts, a list of token ids or a list of such lists")
}

func (in *inputs) addTokens(ids []int) {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(id)
	}
	in.turns = append(in.turns, turn{role: "user", text: strings.Join(words, " "), size: len(ids) * bytesPerToken})
}
