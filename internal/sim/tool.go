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
// message is not called again.
func (t *tools) called(p *prompt, copies int) []tool {
	question, done := p.question()
	var list []tool
	switch {
	case t.named != "":
		list = slices.DeleteFunc(slices.Clone(t.offered), func(tool tool) bool { return tool.name != t.named })
	case t.use == mayUse:
		list = slices.DeleteFunc(t.mentioned(question), func(tool tool) bool { return slices.Contains(done, tool.name) })
	case t.use == mustUse:
		list = t.demanded(question, done)
	}
	if t.sequential && len(list) > 1 {
		list = list[:1]
	}
	if len(list) > 0 && copies > 1 && !t.sequential {
		list = slices.Repeat(list, copies)
	}
	return list[:min(len(list), maxCalls)]
}

// demanded returns the tools that a model calls if it must call some: those that the question mentions, or the first. If all
// of these were called since the question, it is the first tool that was not: frameworks offer a tool for the answer itself,
// and demand calls until that tool is called.
func (t *tools) demanded(question string, done []string) []tool {
	list := t.mentioned(question)
	if len(list) == 0 {
		list = t.offered[:min(1, len(t.offered))]
	}
	open := func(tool tool) bool { return !slices.Contains(done, tool.name) }
	if i := slices.IndexFunc(t.offered, open); i >= 0 && !slices.ContainsFunc(list, open) {
		list = t.offered[i : i+1]
	}
	return list
}

// maxCalls bounds the calls of one answer.
const maxCalls = 16

// minWord is the least length of a word of a tool's name that mentions the tool by itself.
const minWord = 4

// mentioned returns the tools that a text names: by their whole names, or by words of their names that have at least four
// characters. "What is the weather in Paris?" mentions get_weather. A word that the names of several tools share does not
// count if the text also has a word of one name only: "Ask the math tutor" mentions ask_math_tutor, not ask_history_tutor.
func (t *tools) mentioned(text string) []tool {
	said, owners := saidIn(text), make(map[string]int)
	for _, tool := range t.offered {
		for _, word := range slices.Compact(slices.Sorted(slices.Values(wordsOf(tool.name)))) {
			owners[word]++
		}
	}
	var all, alone []tool
	for _, tool := range t.offered {
		shared, own := false, said[strings.ToLower(tool.name)]
		for _, word := range wordsOf(tool.name) {
			if len(word) >= minWord && said[word] {
				shared, own = true, own || owners[word] == 1
			}
		}
		if own {
			alone = append(alone, tool)
		}
		if own || shared {
			all = append(all, tool)
		}
	}
	if len(alone) > 0 {
		return alone
	}
	return all
}

// saidIn is the words of a text, in lower case: identifiers as a whole, and their parts.
func saidIn(text string) map[string]bool {
	said := make(map[string]bool)
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }) {
		said[word] = true
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return r == '_' || r == '-' }) {
			said[part] = true
		}
	}
	return said
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
