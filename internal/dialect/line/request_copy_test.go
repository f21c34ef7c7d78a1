package line

import (
	"io"
	"strings"
	"testing"

	"penstock"
)

func TestMessageBatchesSayOneThing(t *testing.T) {
	t.Parallel()
	const params = `{"model":"fast","max_tokens":1,"messages":[]}`
	if _, err := CopyRequests(strings.NewReader(`{"requests":[{"custom_id":"a","params":`+params+`}]}`), io.Discard); err != nil {
		t.Fatal(err)
	}
	for text, param := range map[string]string{
		`{"requests":[{"custom_id":"a","params":` + params + `,"Params":{"model":"dear"}}]}`:       "requests.0.Params",
		`{"requests":[{"custom_id":"a","params":` + params + `},{"custom_id":"b","PARAMS":1}]}`:    "requests.1.PARAMS",
		`{"requests":[{"custom_id":"a","params":` + params + `}],"Requests":[]}`:                   "requests",
		`{"Requests":[{"custom_id":"a","params":` + params + `}]}`:                                 "requests",
		`{"requests":[{"custom_id":"a","params":` + params + `,"param\u0073":{"model":"dear"}}]}`:  "requests.0",
		`{"requests":[{"custom_id":"a","params":{"model":"fast","model":"dear","max_tokens":1}}]}`: "requests.0",
	} {
		_, err := CopyRequests(strings.NewReader(text), io.Discard)
		if e := penstock.AsError(err); err == nil || e.Code != penstock.CodeInvalidRequest || e.Param != param {
			t.Errorf("%s: %v (%s), want one about %s", text, err, penstock.AsError(err).Param, param)
		}
	}
}
