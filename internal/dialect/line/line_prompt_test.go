package line

import (
	"testing"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect/catalog"
)

// TestInputsWithPrompts holds how the prompt of a job, the body and the variables of an input become one body.
func TestInputsWithPrompts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, defaults, body, variables, want, param string }{
		{"the job's prompt", `{"prompt":{"name":"p"}}`, ``, ``, `{"prompt":{"name":"p"}}`, ""},
		{"variables of the input", `{"prompt":{"name":"p"}}`, ``, `{"a":1}`, `{"prompt":{"variables":{"a":1},"name":"p"}}`, ""},
		{"both have variables", `{"prompt":{"name":"p","variables":{"a":1,"b":2}}}`, `{"seed":1}`, `{"a":3}`, `{"seed":1,"prompt":{"name":"p","variables":{"a":3,"b":2}}}`, ""},
		{"the input's own prompt", `{"prompt":{"name":"p"}}`, `{"prompt":{"name":"q"}}`, `{"a":1}`, `{"prompt":{"variables":{"a":1},"name":"q"}}`, ""},
		{"no prompt", ``, `{"messages":[]}`, `{"a":1}`, ``, "inputs[0].variables"},
		{"no object", `{"prompt":{"name":"p"}}`, ``, `[1]`, ``, "inputs[0].variables"},
		{"nothing", ``, ``, ``, ``, "inputs[0].body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entry, _ := catalog.Of(penstock.EndpointMessages)
			form := Form{Endpoint: entry}
			if tt.defaults != "" {
				var err error
				if form.Defaults, err = body.Scan([]byte(tt.defaults)); err != nil {
					t.Fatal(err)
				}
			}
			in := Input{Path: "inputs[0].body", Body: []byte(tt.body)}
			if tt.variables != "" {
				in.Variables = []byte(tt.variables)
			}
			inf, err := form.Inference(in)
			if penstock.AsError(err).Param != tt.param || err == nil && tt.param != "" {
				t.Fatalf("%v, want an error about %q", err, tt.param)
			}
			if err == nil && string(inf.Body()) != tt.want { // without the bound that messages get otherwise: the prompt may have one
				t.Errorf("the body is %s, want %s", inf.Body(), tt.want)
			}
		})
	}
}
