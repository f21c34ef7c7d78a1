package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	type part struct {
		Rate float64 `yaml:"rate"`
	}
	type thing struct {
		Name  string          `yaml:"name"`
		Parts map[string]part `yaml:"parts"`
		List  []part          `yaml:"list"`
	}
	for _, tt := range []struct {
		name, text string
		want       []string // problems, with one about parts["a.b"].rate and one about list[1]
	}{
		{"all well", "name: x\nparts: {a.b: {rate: 2}}\nlist: [{rate: 1}, {}]", []string{
			`2:15: parts["a.b"].rate: is too much`, `3:19: list[1]: is too little`}},
		{"what cannot be read is not judged", "nam: x\nparts: {a.b: {rate: two}}\nlist: 3", []string{
			`1:1: nam: unknown key; did you mean "name"?`, `2:15: parts["a.b"].rate: must be a number, not a string`,
			`3:1: list: must be a list, not a number: put it in brackets, as [a, b]`, `3:1: list[1]: is too little`}},
		{"no environment", "name: ${HOME}", []string{
			`parts["a.b"].rate: is too much`, `list[1]: is too little`, `1:1: name: the environment variable HOME is not set; set it where Penstock starts`}},
	} {
		var v thing
		d := ReadDocument([]byte(tt.text), &v)
		d.Failf(Key("parts", "a.b")+".rate", "is too much")
		d.Failf(Index("list", 1), "is too little")
		var got []string
		for _, p := range d.Problems() {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(tt.want)), slices.Sorted(slices.Values(got))); diff != "" || !d.Readable() {
			t.Errorf("%s: problems differ (-want +got):\n%s", tt.name, diff)
		}
		if d.Written("list") != (tt.name != "no environment") || d.Written("other") {
			t.Errorf("%s: it does not know what is written", tt.name)
		}
	}
	for _, text := range []string{"- a", "{", "a: 1\n---\nb: 2"} {
		if d := ReadDocument([]byte(text), new(thing)); d.Readable() || len(d.Problems()) != 1 {
			t.Errorf("%q has the problems %v, want one and no more", text, d.Problems())
		}
	}
}
