package rest

import (
	"testing"

	"penstock"
)

// An unknown field is named with the field that was probably meant, or with all fields of its object.
func TestDecodeNamesUnknownFields(t *testing.T) {
	t.Parallel()
	type common struct {
		DryRun bool `json:"dry_run,omitzero"`
	}
	type input struct {
		CustomID string `json:"custom_id"`
		Body     string `json:"body"`
	}
	type order struct {
		common
		Model  string  `json:"model"`
		Inputs []input `json:"inputs"`
		Hidden string  `json:"-"`
	}
	for text, want := range map[string]string{
		`{"modle":"fast"}`:                  `Unknown field modle; did you mean "model"?`,
		`{"dryrun":true}`:                   `Unknown field dryrun; did you mean "dry_run"?`,
		`{"inputs":[{"body":""},{"id":1}]}`: `Unknown field inputs[1].id; the fields are custom_id, body.`,
		`{"Hidden":"x"}`:                    `Unknown field Hidden; the fields are dry_run, model, inputs.`,
	} {
		err := Decode([]byte(text), new(order))
		if got := penstock.AsError(err); got == nil || got.Message != want || got.Code != penstock.CodeInvalidRequest {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
