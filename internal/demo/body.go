package demo

import (
	"math/rand/v2"
	"strings"

	"penstock"
)

// message is a message of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

const (
	bytesPerToken = 4
	// itemContext is how many tokens of context the items of jobs carry.
	itemContext = 120
)

// handbook is the context that companies put before their prompts, paragraph by paragraph.
var handbook = []string{
	"You work for a company that values plain words. Answer in the language of the message, keep to the facts that you were given, and say so when something is missing.",
	"Do not promise dates, amounts or exceptions. Name the next step and the team that takes it. Never repeat card numbers, passwords or health details.",
	"Style: short sentences, active voice, no exclamation marks. Use the customer's name once. Sign with the name of the team, not with a person's.",
	"Returns are possible within thirty days. Repairs take about two weeks. Refunds go to the account that paid. Gift cards are refunded as gift cards.",
	"If a text mentions an accident, an injury or a legal threat, hand the case to a person and add nothing to it.",
	"Quote clause and page when you refer to a document. If two documents disagree, name both and prefer the newer one.",
}

// guidance is about so many tokens of the handbook.
func guidance(tokens int) string {
	var b strings.Builder
	for n := 0; b.Len() < bytesPerToken*tokens; n++ {
		b.WriteString(handbook[n%len(handbook)])
		b.WriteByte('\n')
	}
	return b.String()
}

// body is a body that the workload sends, with some tokens of context.
func (w *workload) body(draw *rand.Rand, tokens int) map[string]any {
	prompt := w.feature.Prompt(draw)
	switch w.endpoint {
	case penstock.EndpointEmbeddings:
		return map[string]any{"model": w.model, "input": prompt, "dimensions": embeddingSize}
	case penstock.EndpointResponses:
		return map[string]any{"model": w.model, "instructions": guidance(tokens), "input": prompt}
	}
	return map[string]any{"model": w.model, "messages": []message{{"system", guidance(tokens)}, {"user", prompt}}}
}
