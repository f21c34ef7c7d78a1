package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// answer is what the model generates, before a dialect gives it a form.
type answer struct {
	id           string // unique, without the dialect's prefix
	seed         uint64
	created      time.Time
	model        string
	choices      []choice // one, unless the request asked for more; none for an embedding or a count
	inputTokens  int
	outputTokens int // of all choices, thoughts included
	parts        parts
	claim        int // what usage says in place of all tokens; 0: the truth
}

// choice is one of the alternatives that a request asked for: thoughts, then text or calls of tools.
type choice struct {
	thoughts text       // the reasoning before the answer; empty for none
	text     text       // empty where tools are called
	calls    []toolCall // of different tools, or of one tool with different arguments
	stop     stop
	sequence string // the stop sequence that ended it
}

// toolCall is the call of a tool that the request offered.
type toolCall struct {
	id        string // unique among all answers, without the dialect's prefix
	name      string
	custom    bool // the tool takes text
	arguments text // a JSON object, or the text of a custom tool
}

// stop is why a choice ended.
type stop int

const (
	stopEnd      stop = iota // the model was done
	stopLength               // the request's own maximum ended it
	stopTools                // it waits for the results of tools
	stopSequence             // a stop sequence of the request ended it
)

// only returns the one choice of an answer in a dialect that has no alternatives.
func (a *answer) only() *choice { return &a.choices[0] }

// signature is what a dialect seals the thoughts with. It depends on the thoughts alone, so a later request
// that carries them can be checked.
func signature(thoughts string) string {
	sum := sha256.Sum256([]byte("sim thoughts\x00" + thoughts))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// sealBytes is the length of each half of sealed thoughts.
const sealBytes = sha256.Size / 2

// sealed stands for encrypted thoughts: half of their digest, and half of the digest of that, so that a change is seen by those who do
// not have the thoughts.
func sealed(thoughts string) string {
	sum := sha256.Sum256([]byte("sim thoughts\x00" + thoughts))
	seal := sha256.Sum256(sum[:sealBytes])
	return base64.StdEncoding.EncodeToString(append(sum[:sealBytes], seal[:sealBytes]...))
}

// unsealed reports whether sealed thoughts are as they were given out.
func unsealed(encrypted string) bool {
	raw, err := base64.StdEncoding.DecodeString(encrypted)
	if err != nil || len(raw) != 2*sealBytes {
		return false
	}
	seal := sha256.Sum256(raw[:sealBytes])
	return bytes.Equal(raw[sealBytes:], seal[:sealBytes])
}

// thoughts is how many tokens the answer was reasoned with.
func (a *answer) thoughts() int {
	n := 0
	for i := range a.choices {
		n += a.choices[i].thoughts.length
	}
	return n
}

// tokens is the length of a choice.
func (c *choice) tokens() int {
	n := c.thoughts.length + c.text.length
	for _, call := range c.calls {
		n += call.arguments.length
	}
	return n
}

// text is a text that the model generates token by token. The zero value is empty.
type text struct {
	pieces iter.Seq[string]
	length int // in tokens
}

// tokens yields the text piece by piece.
func (t text) tokens() iter.Seq[string] {
	return func(yield func(string) bool) {
		if t.length == 0 {
			return
		}
		n := 0
		for piece := range t.pieces {
			if !yield(piece) {
				return
			}
			if n++; n == t.length {
				return
			}
		}
	}
}

// String returns the whole text.
func (t text) String() string {
	var b strings.Builder
	for piece := range t.tokens() {
		b.WriteString(piece)
	}
	return b.String()
}

// cut returns the text with at most so many tokens.
func (t text) cut(most int) text {
	t.length = min(t.length, most)
	return t
}

// maxPieceRunes is the most of a token of JSON.
const maxPieceRunes = 6

// written is a text that is known as a whole: JSON. Every mark of punctuation is a token of its own.
func written(s string) text {
	var pieces []string
	begin, runes := 0, 0
	end := func(i int) {
		if i > begin {
			pieces = append(pieces, s[begin:i])
		}
		begin, runes = i, 0
	}
	for i, r := range s {
		if strings.ContainsRune("{}[]:,", r) {
			end(i)
			end(i + 1)
			continue
		}
		if runes == maxPieceRunes {
			end(i)
		}
		runes++
	}
	end(len(s))
	return listed(pieces)
}

// listed is a text of these tokens.
func listed(pieces []string) text { return text{length: len(pieces), pieces: slices.Values(pieces)} }

// plan settles what the answer will be. Its error is a *failure.
func (x *exchange) plan() error {
	c := x.call
	x.answer = &answer{
		id:          x.id,
		seed:        x.config.Seed,
		created:     time.Now(),
		model:       c.model,
		inputTokens: c.prompt.tokens(),
		claim:       x.directives.claim,
	}
	if !c.silent {
		for i := range c.choiceCount() {
			one, err := x.choose(i)
			if err != nil {
				return err
			}
			x.answer.choices = append(x.answer.choices, one)
			x.answer.outputTokens += one.tokens()
		}
	}
	reported := x.directives.parts
	if reported.reasoning == 0 {
		reported.reasoning = x.answer.thoughts()
	}
	x.answer.parts = reported.within(x.answer.inputTokens, x.answer.outputTokens)
	return nil
}

// choose settles the i-th choice.
func (x *exchange) choose(i int) (choice, error) {
	c := x.call
	digest := c.promptOf(i).digest(x.config.Seed, c.model)
	if i := i % max(c.n, 1); i > 0 { // alternatives to one prompt differ
		digest = derived(digest, fmt.Sprintf("choice %d", i))
	}
	budget := MaxOutputTokens / c.choiceCount()
	if c.maxTokens > 0 {
		budget = min(budget, c.maxTokens)
	}
	var one choice
	if c.effort > 0 {
		one.thoughts = script{digest: derived(digest, "thoughts"), length: min(c.effort, max(budget/2, 1))}.text()
		budget -= one.thoughts.length
	}
	called := c.tools.called(c.prompt, x.directives.calls)
	if len(called) > 0 {
		err := one.call(called, callPlan{id: x.id, first: i * maxCalls, digest: digest, budget: budget})
		return one, err
	}
	length := x.config.OutputTokens
	if x.directives.tokens > 0 {
		length = x.directives.tokens
	}
	whole, err := c.say(digest, length)
	if err != nil {
		return one, err
	}
	if reply := x.config.reply(c, i); reply.length > 0 {
		whole = reply
	}
	one.text, one.sequence = whole.cut(budget).before(c.stops)
	switch {
	case one.sequence != "":
		one.stop = stopSequence
	case whole.length > budget:
		one.stop = stopLength
	}
	return one, nil
}

// reply is the text that Config.Reply writes for the i-th choice, word by word; empty for none.
func (c *Config) reply(to *call, i int) text {
	if c.Reply == nil || to.format != nil {
		return text{}
	}
	words := c.Reply(to.promptOf(i).last())
	if words == "" {
		return text{}
	}
	return listed(strings.SplitAfter(words, " "))
}

// derived is a digest of its own for a part of an answer.
func derived(digest [sha256.Size]byte, label string) [sha256.Size]byte {
	return sha256.Sum256(append(digest[:], label...))
}
