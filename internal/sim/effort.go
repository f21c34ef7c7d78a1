package sim

// openaiEfforts and anthropicEfforts are how many tokens a model thinks before it answers, by the words of each API.
var (
	openaiEfforts    = map[string]int{"": 0, "none": 0, "minimal": 4, "low": 8, "medium": 16, "high": 32, "xhigh": 64}
	anthropicEfforts = map[string]int{"low": 8, "medium": 16, "high": 32, "xhigh": 64, "max": 64}
)

// effortOf reads OpenAI's reasoning effort. Without one the model does not think.
func effortOf(param, word string) (int, error) {
	tokens, known := openaiEfforts[word]
	if !known {
		return 0, invalid(param, "Invalid value: '"+abridge(word)+"'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high' and 'xhigh'.")
	}
	return tokens, nil
}
