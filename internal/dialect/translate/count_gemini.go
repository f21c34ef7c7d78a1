package translate

import (
	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/provider"
)

var countToGemini = &whole{request: geminiFromCount, answer: countFromGemini, envelope: messageError}

// geminiFromCount translates the question how long a message is. The parts of the body that set no input do not matter. Gemini counts
// the whole of a request that is inside its own; the adapter adds the model.
func geminiFromCount(text []byte) ([]byte, []string, error) {
	// The bound of the answer is not part of the question, but the reader of messages asks for one.
	p, err := pivotFromMessages(dialect.LimitOutput(penstock.EndpointMessages, text, 1), geminiRules)
	if err != nil {
		return nil, nil, err
	}
	p.bound, p.Thinking, p.effort = 0, nil, ""
	request, dropped, err := geminiFromPivot(p)
	if err != nil {
		return nil, nil, err
	}
	return append(append([]byte(`{"generateContentRequest":`), request...), '}'), dropped, nil
}

func countFromGemini(text []byte, _ dialect.Asked, _ provider.Meta) ([]byte, error) {
	var in struct {
		TotalTokens *int64 `json:"totalTokens"`
	}
	if err := json.Unmarshal(text, &in, lenient); err != nil || in.TotalTokens == nil {
		return nil, malformed(err, "it is not a count of tokens")
	}
	return encode(struct {
		InputTokens int64 `json:"input_tokens"`
	}{*in.TotalTokens}), nil
}
