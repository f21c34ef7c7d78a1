package dialect

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"penstock/internal/body"
)

// outputNames are names, beside those of its dialect, by which the servers behind one kind of provider are told how much to
// generate. A server obeys some of them and ignores the others. So they never lower what is reserved for a call: they can only
// raise it.
type outputNames struct {
	Output   []string // the most tokens of one answer
	Added    []string // tokens that a model may think with, beside that bound
	Thinking []string // tokens that a model may think with, inside of that bound unless they are more
	Answers  []string // how many answers are generated
}

// kindOutputNames are the names by the kind of provider. Servers of one kind also take those of the other: many serve both
// dialects over one engine.
var kindOutputNames = map[string]outputNames{
	"openai": {
		Output: []string{
			maxTokens, maxCompletionTokens, maxOutputTokens,
			"n_predict",                 // llama.cpp
			"num_predict",               // Ollama
			"max_new_tokens",            // TGI, text-generation-webui
			"max_length", "max_gen_len", // TabbyAPI, KoboldCpp; Llama on Bedrock
			"maxOutputTokens",          // Gemini, in generation_config
			"min_tokens", "min_length", // vLLM, SGLang, TabbyAPI: at least as many
			"min_new_tokens", // TGI and SGLang
		},
		Added:    []string{"thinking_budget", "thinking_token_budget", "thinking_budget_tokens", "reasoning_budget", "max_thinking_tokens"}, // Qwen, vLLM, llama.cpp, NVIDIA
		Thinking: []string{"budget_tokens"},
		Answers:  []string{"n", "best_of", "num_return_sequences", "num_generations", "candidate_count", "n_cmpl", "beam_width", "num_beams"},
	},
	"anthropic": {
		Output:   []string{maxTokens, "max_tokens_to_sample"},
		Thinking: []string{"budget_tokens"},
	},
}

// outputContainers are members in which servers look for such names too.
var outputContainers = []string{"options", "parameters", "generation_config", "generationConfig", "sampling_params", "custom_params", "nvext", "extra_body", "thinking", "reasoning"}

// innerContainers are members of such members in which servers look for such names too: gateways lift what is in extra_body.
var innerContainers = append([]string{"google", "thinking_config", "thinkingConfig"}, outputContainers...) // Gemini takes the first two in extra_body

// maxContainers bounds how deep containers lie in each other. No server looks deeper than extra_body.google.thinking_config.
const maxContainers = 4

// forbidden are members that make some servers answer with another model than the one that was asked for, or send another body
// than the one that was checked, and what to do instead.
var forbidden = map[string]string{
	"models":    "some servers take it for other models to answer with: ask for one model, and let its targets be the fallbacks",
	"fallbacks": "some servers take it for other models to answer with: ask for one model, and let its targets be the fallbacks",
	"lora_path": anotherAdapter, "lora": anotherAdapter, "adapter_id": anotherAdapter, // SGLang, llama.cpp, TGI
}

const anotherAdapter = "some servers answer with another adapter because of it: ask for a model whose upstream_model names the adapter"

// forbiddenExtra are members of extra_body that some servers put in place of those of the body.
var forbiddenExtra = []string{"model", "models", "fallbacks", "messages", "input", "prompt", "stream", "lora_path", "lora", "adapter_id", "extra_body"}

// Further is how much a body asks for by names that not every server obeys.
type Further struct {
	Output   int64 // the most tokens of one answer
	Added    int64 // tokens beside that bound
	Thinking int64 // tokens inside of that bound unless they are more
	Answers  int64 // how many answers are generated
}

// Most is the most tokens of one answer, where the names that every server obeys bound it.
func (f Further) Most(bound int64) int64 {
	most := max(bound, f.Output)
	for _, more := range []int64{f.Added, f.thinkingBeside(bound)} {
		if most > math.MaxInt64-more {
			return math.MaxInt64
		}
		most += more
	}
	return most
}

// thinkingBeside are the tokens to think with that a bound cannot hold. A model that thinks between its calls of tools may have
// more of them than its answer may have tokens.
func (f Further) thinkingBeside(bound int64) int64 {
	if f.Thinking < bound {
		return 0
	}
	return f.Thinking
}

// WrongMember is a member that cannot be passed on.
type WrongMember struct{ Path, Reason string }

func (w *WrongMember) Error() string { return w.Path + " " + w.Reason }

// furtherOf reads how much a body asks for by further names. Every error is a *WrongMember.
func furtherOf(o body.Object) (Further, error) {
	var f Further
	most := Further{Output: MaxOutputTokens, Added: MaxOutputTokens, Thinking: MaxOutputTokens, Answers: MaxChoices}
	if err := f.read(o, "", most); err != nil {
		return f, err
	}
	return f, f.readContainers(o, container{names: outputContainers}, most)
}

// container is an object that holds further names: where it stands, and the containers that it may hold itself.
type container struct {
	path  string
	depth int
	names []string
}

// readContainers takes account of the names in the containers of an object, and in theirs.
func (f *Further) readContainers(o body.Object, within container, most Further) error {
	for _, name := range within.names {
		raw := o.Raw(name)
		if len(raw) == 0 || raw[0] != '{' {
			continue
		}
		path := within.path + name
		inner, err := body.Scan(raw)
		switch {
		case err != nil:
			return &WrongMember{path, err.Error()}
		case within.depth == maxContainers:
			return &WrongMember{path, "lies too deep: write what it holds in the body itself"}
		case name == "reasoning": // OpenRouter's max_tokens are those of the thinking alone
			n, err := countOf(inner, maxTokens, most.Thinking)
			if err != nil {
				return &WrongMember{path + "." + maxTokens, err.Error()}
			}
			f.Thinking = max(f.Thinking, n)
			continue
		}
		if err := f.read(inner, path+".", most); err != nil {
			return err
		}
		if err := f.readContainers(inner, container{path + ".", within.depth + 1, innerContainers}, most); err != nil {
			return err
		}
	}
	return nil
}

// checkModel refuses members by which some servers answer with another model, or another body, than was asked for. Every error is
// a *WrongMember.
func checkModel(o body.Object) error {
	for _, m := range o.Members {
		if reason := forbidden[m.Name]; reason != "" && string(o.Raw(m.Name)) != "null" {
			return &WrongMember{m.Name, "is refused: " + reason}
		}
	}
	const extra = "extra_body"
	raw := o.Raw(extra)
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	inner, err := body.Scan(raw)
	if err != nil {
		return &WrongMember{extra, err.Error()}
	}
	for _, m := range inner.Members {
		if slices.Contains(forbiddenExtra, m.Name) {
			return &WrongMember{extra + "." + m.Name, "takes the place of " + m.Name + " on some servers: write it beside " + extra + ", once"}
		}
	}
	return nil
}

// read takes account of the names in one object.
func (f *Further) read(o body.Object, path string, most Further) error {
	for _, m := range o.Members {
		into := f.field(m.Name)
		if into == nil {
			continue
		}
		n, err := countOf(o, m.Name, *most.field(m.Name))
		if err != nil {
			return &WrongMember{path + m.Name, err.Error()}
		}
		*into = max(*into, n)
	}
	return nil
}

// field is what a name counts for, nil for nothing.
func (f *Further) field(name string) *int64 {
	switch meanings[name] {
	case meansOutput:
		return &f.Output
	case meansAdded:
		return &f.Added
	case meansThinking:
		return &f.Thinking
	case meansAnswers:
		return &f.Answers
	}
	return nil
}

// meaning is what a further name bounds.
type meaning int

const (
	meansNothing meaning = iota
	meansOutput
	meansAdded
	meansThinking
	meansAnswers
)

// meanings are those of all names of all kinds.
var meanings = func() map[string]meaning {
	all := map[string]meaning{}
	for _, names := range kindOutputNames {
		for means, list := range map[meaning][]string{meansOutput: names.Output, meansAdded: names.Added, meansThinking: names.Thinking, meansAnswers: names.Answers} {
			for _, name := range list {
				all[name] = means
			}
		}
	}
	return all
}()

func countOf(o body.Object, name string, most int64) (int64, error) {
	n, err := o.Count(name)
	switch {
	case err != nil:
		return 0, errors.New("must be a whole number of at least 0")
	case n > most:
		return 0, fmt.Errorf("must be at most %d", most)
	}
	return n, nil
}

// furtherNames are the names that furtherOf looks at: in a body, for objects that may hold such names too, and in those objects.
func furtherNames() (top, containers, inside []string) {
	inside = slices.Sorted(maps.Keys(meanings))
	top = append(slices.Sorted(maps.Keys(forbidden)), inside...)
	return top, outputContainers, append(slices.Clone(forbiddenExtra), inside...)
}
