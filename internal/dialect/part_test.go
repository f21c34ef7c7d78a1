package dialect

import (
	"testing"

	"penstock"
	"penstock/internal/body"
)

// The calls of an inference have one prompt and one choice each, seeds that differ, and together no more input than was reserved.
func TestParts(t *testing.T) {
	t.Parallel()
	both := &penstock.Target{OneChoice: true, OnePrompt: true, MaxOutputTokens: 10}
	for _, tt := range []struct {
		body   string
		target *penstock.Target
		calls  int64
		each   int64
		bodies []string
	}{
		{`{"n":3}`, &penstock.Target{}, 1, 0, nil},
		{`{"n":2,"x":1}`, both, 2, 1, []string{`{"n":1,"x":1}`, `{"n":1,"x":1}`}},
		{`{"n":2,"seed":7}`, both, 2, 1, []string{`{"n":1,"seed":7}`, `{"n":1,"seed":8}`}},
		{`{"prompt":["a","b"],"n":2}`, both, 4, 1, []string{`{"prompt":"a","n":1}`, `{"prompt":"a","n":1}`, `{"prompt":"b","n":1}`, `{"prompt":"b","n":1}`}},
		{`{"prompt":[[1,2],[3]],"n":2}`, &penstock.Target{OnePrompt: true}, 2, 2, []string{`{"prompt":[1,2],"n":2}`, `{"prompt":[3],"n":2}`}},
		{`{"prompt":["a","b"]}`, &penstock.Target{OneChoice: true}, 1, 2, nil},
		{`{"prompt":[1,2,3]}`, both, 1, 1, nil},
	} {
		object, err := body.Scan([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		inf := &Inference{Object: object, MaxOutputTokens: 5}
		p, err := inf.Parts(tt.target)
		if err != nil || p.Calls != tt.calls || p.Each != tt.each {
			t.Errorf("%s: %d calls of %d, %v", tt.body, p.Calls, p.Each, err)
			continue
		}
		var sent int64
		for i, want := range tt.bodies {
			got := p.Body(int64(i))
			if sent += int64(len(got)); string(got) != want {
				t.Errorf("%s: call %d is %s, want %s", tt.body, i, got, want)
			}
		}
		if most := inf.Weigh().On(tt.target); most.Usage.InputTokens < sent || most.Calls != tt.calls {
			t.Errorf("%s: %d bytes are sent, and %+v reserved", tt.body, sent, most)
		}
	}
}
