package position

import (
	"reflect"
	"testing"

	"penstock"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Position{
		"":                        {Parts: map[int]Part{}},
		"17":                      {Seq: 17, Parts: map[int]Part{}},
		"17;3.2.10.0.5;0.1.1.1.1": {Seq: 17, Parts: map[int]Part{3: {2, [3]int{10, 0, 5}}, 0: {1, [3]int{1, 1, 1}}}},
	} {
		if got, err := Parse(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, wrong := range []string{"x", "-1", "1;", "1;2", "1;1.1.1.1", "1;1.1.1.1.-1", "1;1.1.1.1.1.1", "9223372036854775808", "1;1.1.1.1.99999999999"} {
		if _, err := Parse(wrong); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// FuzzParse reads ids of any text: those that are read write as ids that read as the same position.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "17", "17;3.2.10.0.5", "17;3.2.10.0.5;4.1.0.0.0", ";", "1;1.1.1.1.1;1.2.2.2.2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(p.String()); err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%q is %+v, which writes as %q and reads as %+v, %v", text, p, p.String(), again, err)
		}
	})
}
