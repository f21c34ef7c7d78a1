package api

import (
	"testing"

	"penstock"
)

// TestPlaceOfItem holds that an error names an item as the caller sent it, although targets see the items of earlier turns in front of it.
func TestPlaceOfItem(t *testing.T) {
	t.Parallel()
	continued, spoken := preparedTurn{earlier: 3}, preparedTurn{earlier: 3, conversation: "01JQ0000000000000000000000"}
	for _, c := range []struct {
		turn                 preparedTurn
		param, message       string
		wantParam, wantWords string
	}{
		{continued, "input[4].content[0].type", "input[4].content[0].type is wrong.", "input[1].content[0].type", "input[1].content[0].type is wrong."},
		{continued, "input[3]", "A call has no result.", "input[0]", "A call has no result."},
		{continued, "input[2].file_id", "input[2].file_id: There is no file.", "previous_response_id", "input[2].file_id: There is no file. input[2] is an item of an earlier turn."},
		{spoken, "input[0]", "No.", "conversation", "No. input[0] is an item of an earlier turn."},
		{continued, "input", "input is wrong.", "input", "input is wrong."},
		{continued, "tools[4]", "tools[4] is wrong.", "tools[4]", "tools[4] is wrong."},
		{preparedTurn{}, "input[4]", "input[4] is wrong.", "input[4]", "input[4] is wrong."},
	} {
		got := c.turn.place(penstock.AsError(penstock.InvalidParam(c.param, "%s", c.message)))
		if got.Param != c.wantParam || got.Message != c.wantWords || got.Code != penstock.CodeInvalidRequest {
			t.Errorf("%s: %s %q, want %s %q", c.param, got.Param, got.Message, c.wantParam, c.wantWords)
		}
	}
}
