// Package dialecttest holds the readers of all dialects to one rule: a member that some server takes for another one is refused,
// wherever names are read, and what is free-form passes.
package dialecttest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// Read reads the body of an endpoint.
type Read func(text []byte) (dialect.Inference, error)

// Variants are other names that some decoder takes for a name.
func Variants(name string) []string {
	all := []string{
		strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], name[:len(name)-1] + strings.ToUpper(name[len(name)-1:]),
		strings.ReplaceAll(name, "_", "-"), strings.ReplaceAll(name, "_", ""), "_" + name, name + "-", name + "\x00x",
		strings.ReplaceAll(name, "k", "\u212a"), strings.ReplaceAll(name, "s", "\u017f"), strings.ReplaceAll(name, "i", "\u0131"), strings.ReplaceAll(name, "i", "\u0130"),
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(v string) bool { return v == name })
}

// RefusesVariants holds that every name of a shape is refused in every variant, alone and beside the name itself, as objects and as
// lists of objects.
func RefusesVariants(t *testing.T, s *body.Shape, read Read) {
	t.Helper()
	cases := 0
	names := map[string]bool{}
	s.Walk(func(path string, f body.Field) { names[path+"."+f.Name] = true })
	s.Walk(func(path string, f body.Field) {
		for _, variant := range Variants(f.Name) {
			if names[path+"."+variant] {
				continue // a name that is read itself
			}
			quoted, err := json.Marshal(variant)
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range []string{
				`{` + string(quoted) + `:1}`,
				`{` + string(quoted) + `:1,"` + f.Name + `":null}`,
				`{"` + f.Name + `":null,` + string(quoted) + `:1}`,
			} {
				cases++
				text := nest(path, object, cases%2)
				_, err := read([]byte(text))
				if e := penstock.AsError(err); err == nil || e.Code != penstock.CodeInvalidRequest || e.Param == "body" || !strings.Contains(e.Message, "leave") {
					t.Fatalf("%s passed, or does not say what to do: %v", text, err)
				}
			}
		}
	})
	if cases < 1000 {
		t.Errorf("only %d cases were tried", cases)
	}
}

// nest puts an object where a path leads, in as many lists at each level.
func nest(path, object string, lists int) string {
	if path == "" {
		return object
	}
	for _, name := range slices.Backward(strings.Split(path, ".")) {
		object = strings.Repeat("[", lists) + object + strings.Repeat("]", lists)
		object = `{"` + name + `":` + object + `}`
	}
	return object
}

// PassesFreeForm holds that bodies pass as they are.
func PassesFreeForm(t *testing.T, read Read, bodies ...string) {
	t.Helper()
	for _, text := range bodies {
		call, err := read([]byte(text))
		if err != nil || !strings.HasSuffix(string(call.Object.Text), text[1:]) {
			t.Errorf("%s became %s: %v", text, call.Object.Text, err)
		}
	}
}
