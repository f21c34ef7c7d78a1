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
	role string
	text string
	size int // in bytes, as far as token counting is concerned
}

func (p *prompt) add(role string, c content) {
	p.turns = append(p.turns, turn{role: role, text: c.text, size: len(c.text) + c.attachments*attachmentBytes})
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
	attachments int
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n', '"':
		return json.UnmarshalDecode(dec, &c.text)
	case '[':
		var parts []struct {
			Type    string   `json:"type"`
			Text    string   `json:"text"`
			Content *content `json:"content"` // of an Anthropic tool_result
		}
		if err := json.UnmarshalDecode(dec, &parts); err != nil {
			return err
		}
		var texts []string
		for _, part := range parts {
			switch part.Type {
			case "text", "input_text", "output_text":
				texts = append(texts, part.Text)
			case "tool_result":
				if part.Content != nil {
					texts = append(texts, part.Content.text)
					c.attachments += part.Content.attachments
				}
			case "":
				return errors.New("a content part needs a type")
			default:
				c.attachments++
			}
		}
		c.text = strings.Join(texts, "\n")
		return nil
	}
	return errors.New("content is a string or a list of parts")
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
