package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock/internal/rest"
)

// The header that reports a wait is on every answer of the calls that may wait, and on no other.
func TestOpenAPIDescribesWaits(t *testing.T) {
	t.Parallel()
	var found []string
	doc := described(t)
	doc.Operations(func(path, method string, op rest.Operation) {
		for _, r := range op.Responses {
			for _, h := range r.Value.Headers {
				if h.Name == "x-penstock-limit-wait-ms" {
					found = append(found, method+" "+path+" "+r.Name)
				}
			}
		}
	})
	want := []string{"post /v1/jobs 202", "post /v1/jobs 200", "post /v1/chat/completions 200", "post /v1/completions 200", "post /v1/embeddings 200",
		"post /v1/rerank 200", "post /v2/rerank 200",
		"post /v1/responses 200", "post /v1/messages 200", "post /v1/messages/count_tokens 200"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("answers with the header (-want +got):\n%s", diff)
	}
}
