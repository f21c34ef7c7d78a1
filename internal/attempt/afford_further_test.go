package attempt

import (
	"testing"

	"penstock"
)

// What a hard budget pays for is bounded by every name that some server obeys.
func TestWorstCountsFurtherNames(t *testing.T) {
	t.Parallel()
	target := &penstock.Target{MaxOutputTokens: 100}
	for body, want := range map[string]int64{
		`{}`: 100, `{"max_tokens":7}`: 7, `{"max_tokens":7,"n":2}`: 14, `{"max_tokens":7,"n_predict":900}`: 900, `{"n_predict":5}`: 100, `{"options":{"num_predict":300}}`: 300,
		`{"max_tokens":7,"best_of":3}`: 21, `{"max_tokens":7,"thinking_budget":10}`: 17, `{"max_tokens":7,"extra_body":{"num_return_sequences":4}}`: 28,
	} {
		task := Task{Endpoint: penstock.EndpointChat, Body: []byte(body)}
		if got := task.worst(target).Usage.OutputTokens; got != want {
			t.Errorf("%s: %d tokens, want %d", body, got, want)
		}
	}
}
