package penstock

import "testing"

func TestCutTag(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"team:search": {"team", "search"}, "team=search": {"team", "search"}, "note:x=y": {"note", "x=y"}, "team:a:b": {"team", "a:b"}, "team=a=b": {"team", "a=b"}, "team:": {"team", ""},
	} {
		if key, value, ok := CutTag(text); !ok || key != want[0] || value != want[1] {
			t.Errorf("%s is %q and %q, %v", text, key, value, ok)
		}
	}
	for _, text := range []string{"", "team", ":x", "=x"} {
		if _, _, ok := CutTag(text); ok {
			t.Errorf("%q is a tag", text)
		}
	}
}
