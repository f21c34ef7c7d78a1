package admit

import (
	"strings"
	"testing"

	"penstock"
)

// TestAllowedModels holds that a model which a tenant may not use does not exist for it, whichever way it asks.
func TestAllowedModels(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.caller.Tenant.Models = []string{"other"}
	_, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast", Inference: order().Inferences[0]})
	if e := penstock.AsError(err); e.Code != penstock.CodeModelNotFound || strings.Contains(e.Message, "configured: fast") {
		t.Errorf("a call: %v", err)
	}
	if _, err := r.Job(t.Context(), r.caller, order()); penstock.ErrorCode(err) != penstock.CodeModelNotFound {
		t.Errorf("a job: %v", err)
	}
	if _, err := r.Consider(t.Context(), r.caller, RequestOrder{Model: "fast"}); penstock.ErrorCode(err) != penstock.CodeModelNotFound {
		t.Errorf("a question: %v", err)
	}
	r.caller.Tenant.Models = []string{"fast"}
	if _, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast", Inference: order().Inferences[0]}); err != nil {
		t.Errorf("a call for an allowed model: %v", err)
	}
}
