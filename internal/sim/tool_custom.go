package sim

import (
	"crypto/sha256"

	"penstock/internal/sim/schema"
)

// customTool is a tool of OpenAI's whose input is text instead of an object.
type customTool struct {
	Name   string       `json:"name"`
	Format customFormat `json:"format"`
}

// customFormat is the text that a custom tool takes. Chat completions have the grammar inside, responses beside the type.
type customFormat struct {
	Type    string  `json:"type"`
	grammar         // of a response
	Grammar grammar `json:"grammar"` // of a chat completion
}

// grammar is a regular expression, or a grammar of Lark.
type grammar struct {
	Syntax     string `json:"syntax"`
	Definition string `json:"definition"`
}

// offerCustom adds a tool that takes text.
func (t *tools) offerCustom(c customTool) error {
	if err := t.offer(c.Name, nil); err != nil {
		return err
	}
	t.offered[len(t.offered)-1].custom = &c.Format
	return nil
}

// input generates the text of a call. Grammars of Lark are refused: a text that ignores the grammar would prove nothing.
func (f *customFormat) input(tool string, digest [sha256.Size]byte) (text, error) {
	if f.Type != "grammar" {
		return script{digest: digest, length: objectWords}.text(), nil
	}
	rule := f.Grammar
	if rule == (grammar{}) {
		rule = f.grammar
	}
	fail := func(why string) (text, error) {
		return text{}, invalid("tools", "Invalid grammar for tool '"+abridge(tool)+"': "+why+".")
	}
	if rule.Syntax != "regex" {
		return fail("the simulator follows regular expressions only, with syntax regex")
	}
	s, err := schema.Parse(encode(map[string]string{"type": "string", "pattern": "^(?:" + rule.Definition + ")$"}))
	if err != nil {
		return fail(err.Error())
	}
	instance, err := s.Instance(source(digest))
	if err != nil {
		return fail(err.Error())
	}
	var input string
	if err := decodeBody(instance, &input); err != nil {
		return fail(err.Error())
	}
	return written(input), nil
}
