package openai

import (
	"testing"

	"penstock"
)

func TestKeepResponse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		body   string
		wanted bool
		want   KeptResponse
	}{
		{`{"input":"a"}`, false, KeptResponse{}},
		{`{"input":"a","store":false,"stream":true}`, false, KeptResponse{}},
		{`{"input":"a","store":null,"background":false}`, false, KeptResponse{}},
		{`{"input":"a","store":true}`, true, KeptResponse{Body: []byte(`{"input":"a","store":false}`)}},
		{`{"background":true,"input":"a"}`, true, KeptResponse{Body: []byte(`{"store":false,"background":false,"input":"a"}`), Background: true}},
		{`{"input":"a","store":true,"stream":true,"background":true}`, true,
			KeptResponse{Body: []byte(`{"input":"a","store":false,"stream":false,"background":false}`), Stream: true, Background: true}},
	} {
		kept, wanted, err := KeepResponse([]byte(tc.body))
		if err != nil || wanted != tc.wanted || string(kept.Body) != string(tc.want.Body) ||
			kept.Stream != tc.want.Stream || kept.Background != tc.want.Background {
			t.Errorf("%s: %+v (%s), %v, %v", tc.body, kept, kept.Body, wanted, err)
		}
		if wanted {
			if _, err := ReadResponse(kept.Body); err != nil {
				t.Errorf("%s cannot be run: %v", kept.Body, err)
			}
		}
	}
	for body, param := range map[string]string{
		`{"background":true,"store":false}`: "store", `{"background":"yes"}`: "background", `{"store":1}`: "store", `{"store":true,"stream":"x"}`: "stream", `[]`: "body",
	} {
		if _, _, err := KeepResponse([]byte(body)); penstock.AsError(err).Param != param {
			t.Errorf("%s: %v, want %s to be refused", body, err, param)
		}
	}
}
