package translate

import (
	"slices"

	"penstock"
)

// minThinking is the smallest budget for thinking that an upstream of messages takes.
const minThinking = 1024

// efforts are how much a model shall think: as a word, and from how many tokens on. A budget means the
// last word that it reaches.
var efforts = []struct {
	word   string
	budget int64
}{{"none", 0}, {"minimal", 0}, {"low", minThinking}, {"medium", 4096}, {"high", 16384}, {"xhigh", 32768}}

// effort sets how long the answer may get and how much of it is for thinking. Thinking is a wish: where
// the other dialect forbids it together with something else that was asked for, it is dropped.
func (t *messageBuilder) effort(word string, bound int64) error {
	if bound == 0 {
		bound = t.most
	}
	t.out.MaxTokens = bound
	if word == "" {
		return nil
	}
	for _, e := range efforts {
		if e.word == word {
			t.think(e.budget, bound)
			return nil
		}
	}
	return penstock.InvalidParam("reasoning_effort", "reasoning_effort must be none, minimal, low, medium, high or xhigh.")
}

func (t *messageBuilder) think(budget, bound int64) {
	if budget == 0 {
		return
	}
	budget = min(budget, bound/2) // some of the bound must be left for the answer
	if budget < minThinking || !t.mayThink() {
		t.drop("reasoning_effort")
		return
	}
	t.out.Thinking = &thinking{Type: "enabled", BudgetTokens: budget}
}

// mayThink reports whether the rest of the body goes together with thinking. After the result of a tool
// the thoughts that led to the call must be there. Chat completions have no place for them; responses have.
func (t *messageBuilder) mayThink() bool {
	n := len(t.out.Messages)
	afterTool := t.out.Messages[n-1].Content[0].Type == "tool_result" && !t.out.Messages[n-2].Content.beginWithThinking()
	forced := t.out.ToolChoice != nil && (t.out.ToolChoice.Type == "any" || t.out.ToolChoice.Type == "tool")
	sampled := (t.out.Temperature != nil && *t.out.Temperature != 1) || (t.out.TopP != nil && *t.out.TopP < 0.95)
	return !afterTool && !forced && !sampled
}

// beginWithThinking reports whether a turn of the assistant has the thoughts that led to it.
func (b blocks) beginWithThinking() bool {
	return b[0].Type == "thinking" || b[0].Type == "redacted_thinking"
}

// The values of thinking.type and of output_config.effort in messages. The effort is "" in a message without it.
var (
	thinkingTypes  = []string{"enabled", "adaptive", "disabled"}
	messageEfforts = []string{"", "low", "medium", "high", "xhigh", "max"}
)

// checkThinking refuses words that messages do not have. Another upstream would ignore them or take them for others.
func (in *messageRequest) checkThinking() error {
	if in.Thinking != nil && !slices.Contains(thinkingTypes, in.Thinking.Type) {
		return penstock.InvalidParam("thinking.type", "thinking.type must be enabled, adaptive or disabled.")
	}
	if in.OutputConfig != nil && !slices.Contains(messageEfforts, in.OutputConfig.Effort) {
		return penstock.InvalidParam("output_config.effort", "output_config.effort must be low, medium, high, xhigh or max.")
	}
	return nil
}

// effort is the word for how much the model may think.
func (t *chatBuilder) effort(in messageRequest) error {
	if err := in.checkThinking(); err != nil {
		return err
	}
	if in.Thinking != nil {
		t.dropUnknown("thinking", in.Thinking.Unknown)
		switch {
		case in.Thinking.Type == "enabled":
			t.out.ReasoningEffort = wordFor(in.Thinking.BudgetTokens)
		case in.OutputConfig == nil || in.OutputConfig.Effort == "":
			t.drop("thinking") // there is no word for "as you see fit", and not every upstream has one for "not"
		}
	}
	if in.OutputConfig == nil {
		return nil
	}
	t.dropUnknown("output_config", in.OutputConfig.Unknown)
	if err := t.format(in.OutputConfig.Format); err != nil {
		return err
	}
	switch word := in.OutputConfig.Effort; word {
	case "", "low", "medium", "high":
		if word != "" {
			t.out.ReasoningEffort = word
		}
	default:
		t.out.ReasoningEffort = "high" // not every upstream knows a higher effort
		t.drop("output_config.effort")
	}
	return nil
}

// wordFor is the effort that a budget means.
func wordFor(budget int64) string {
	word := "low"
	for _, e := range efforts {
		if budget >= e.budget && e.budget > 0 && e.word != "xhigh" {
			word = e.word
		}
	}
	return word
}
