package wire

import "testing"

// A template recognises an event that differs from the learned event in its text alone, and no other.
func TestTemplateRecognisesTheSameEvent(t *testing.T) {
	t.Parallel()
	var template Template
	if _, ok := template.Text([]byte(`{"d":"a"}`)); ok {
		t.Error("a template that learned nothing recognises an event")
	}
	learned := []byte(`{"n":1,"d":"a" ,"e":null}`)
	template.Learn(learned, Span{len(`{"n":1,"d":`), len(`{"n":1,"d":"a" `)})
	clear(learned) // events lie in a buffer that is used again
	for data, want := range map[string]string{
		`{"n":1,"d":"a" ,"e":null}`:                "a",
		`{"n":1,"d":"","e":null}`:                  "",
		`{"n":1,"d":"a \"word\" \u00e9","e":null}`: `a "word" é`,
		`{"n":1,"d":" b" ,"e":null}`:               " b",
	} {
		if text, ok := template.Text([]byte(data)); !ok || text != want {
			t.Errorf("%s reads as %q, %v", data, text, ok)
		}
	}
	for _, other := range []string{
		``, `{"n":1,"d":`, `{"n":1,"d":,"e":null}`, `{"n":2,"d":"a","e":null}`, `{"n":1,"d":"a","e":0}`, `{"n":1,"d":null,"e":null}`, `{"n":1,"d":7,"e":null}`,
		`{"n":1,"d":"a","error":"b","e":null}`, `{"n":1,"d":"a","d":"b","e":null}`, `{"n":1,"d":"a,"e":null}`, `{"n":1,"d":"\x","e":null}`, `{"n":1,"d":["a"],"e":null}`,
	} {
		if text, ok := template.Text([]byte(other)); ok {
			t.Errorf("%s reads as %q", other, text)
		}
	}
}

// A template keeps no large event in memory: thousands of streams have one.
func TestTemplatesAreSmall(t *testing.T) {
	t.Parallel()
	var template Template
	template.Learn(append(make([]byte, maxTemplateBytes+1), `"a"`...), Span{maxTemplateBytes + 1, maxTemplateBytes + 4})
	if template.fixed != nil {
		t.Errorf("it keeps %d bytes", len(template.fixed))
	}
}
