package sim

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// tool is a function that a request offers.
type tool struct {
	name       string
	parameters jsontext.Value // the schema of its arguments; nil for none
	custom     *customFormat  // of the text that it takes instead; nil for a function
}

// toolUse is how free the model is to call tools.
type toolUse int

const (
	mayUse  toolUse = iota // it decides
	mustUse                // it calls some tool
	noUse                  // it calls none
)

// tools are what a request offers, and how the answer may use them.
type tools struct {
	offered    []tool
	use        toolUse
	named      string // the one tool that must be called, "" for any
	sequential bool   // one call at a time
}

// maxTools bounds the tools that a request may offer.
const maxTools = 128

// offer adds a tool with the schema of its arguments, which may be absent.
func (t *tools) offer(name string, parameters jsontext.Value) error {
	if len(t.offered) == maxTools {
		return invalid("tools", fmt.Sprintf("Invalid 'tools': array too long. Expected at most %d tools.", maxTools))
	}
	t.offered = append(t.offered, tool{name: name, parameters: parameters})
	return nil
}

// called returns the tools to call, each once, in their order; none for an answer in text. A model that may
// choose calls the tools that the user's last message mentions, once each: a tool that was called since that
// message is not called again. A model that must call some tool and finds none mentioned calls the first.
func (t *tools) called(p *prompt, copies int) []tool {
	var list []tool
	question, done := p.question()
	for _, tool := range t.offered {
		switch {
		case t.named != "":
			if tool.name == t.named {
				list = append(list, tool)
			}
		case t.use == noUse, !mentions(question, tool.name):
		case t.use == mustUse, !slices.Contains(done, tool.name):
			list = append(list, tool)
		}
	}
	if len(list) == 0 && t.use == mustUse && len(t.offered) > 0 {
		list = t.offered[:1]
	}
	if t.sequential && len(list) > 1 {
		list = list[:1]
	}
	if len(list) > 0 && copies > 1 && !t.sequential {
		list = slices.Repeat(list, copies)
	}
	return list[:min(len(list), maxCalls)]
}

// maxCalls bounds the calls of one answer.
const maxCalls = 16

// minWord is the least length of a word of a tool's name that mentions the tool by itself.
const minWord = 4

// mentions reports whether a text names a tool: by its whole name, or by a word of it that has at least four
// characters. "What is the weather in Paris?" mentions get_weather.
func mentions(text, name string) bool {
	said := make(map[string]bool)
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }) {
		said[word] = true
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return r == '_' || r == '-' }) {
			said[part] = true
		}
	}
	if said[strings.ToLower(name)] {
		return true
	}
	return slices.ContainsFunc(wordsOf(name), func(word string) bool { return len(word) >= minWord && said[word] })
}

// wordsOf splits an identifier at underscores, hyphens and humps, in lower case.
func wordsOf(name string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	lower := false
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || (lower && unicode.IsUpper(r)) {
			end()
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			word.WriteRune(unicode.ToLower(r))
		}
		lower = unicode.IsLower(r)
	}
	end()
	return words
}

// callPlan is what the calls of a choice are made from.
type callPlan struct {
	id     string // of the answer
	first  int    // the number of the choice's first call in the answer
	digest [sha256.Size]byte
	budget int // in tokens
}

// call adds the calls of tools. A call that the request's maximum leaves no space for is left out.
func (c *choice) call(called []tool, plan callPlan) error {
	c.stop = stopTools
	for i, tool := range called {
		arguments, err := tool.arguments(derived(plan.digest, fmt.Sprintf("call %d of %s", i, tool.name)))
		if err != nil {
			return err
		}
		if arguments.length > plan.budget {
			c.stop = stopLength
			return nil
		}
		plan.budget -= arguments.length
		c.calls = append(c.calls, toolCall{id: plan.id + suffix(plan.first+i), name: tool.name, custom: tool.custom != nil, arguments: arguments})
	}
	return nil
}

// suffix tells the calls of one answer apart. The first has none.
func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprintf("_%d", i)
}
