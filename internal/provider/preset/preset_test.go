package preset

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"penstock"
)

// The page for operators has a row for each preset that says what the table says.
func TestPresetsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/how-to/connect-a-provider.md")
	if err != nil {
		t.Fatal(err)
	}
	words := map[penstock.Endpoint]string{
		penstock.EndpointChat: "chat", penstock.EndpointCompletions: "completions", penstock.EndpointEmbeddings: "embeddings", penstock.EndpointResponses: "responses",
		penstock.EndpointRank: "rerank",
	}
	for _, p := range All {
		endpoints := []string{"all"}
		if p.Endpoints != nil {
			endpoints = nil
			for _, e := range p.Endpoints {
				endpoints = append(endpoints, words[e])
			}
		}
		var refused []string
		for _, name := range slices.Concat(slices.Sorted(maps.Keys(p.Refused)), slices.Sorted(maps.Keys(p.RankRefused))) {
			refused = append(refused, "`"+name+"`")
		}
		row := fmt.Sprintf("| `%s` | `%s` | %s | %s | `%s` |", p.Kind, p.BaseURL, strings.Join(endpoints, ", "), strings.Join(refused, " "), p.Reasoning)
		row = strings.ReplaceAll(row, "``", "")
		for strings.Contains(row, "|  |") {
			row = strings.ReplaceAll(row, "|  |", "| |")
		}
		if !strings.Contains(string(page), "\n"+row+"\n") {
			t.Errorf("the page lacks\n%s", row)
		}
	}
}

// A preset has a name and an address, and no member is both renamed and left out.
func TestPresetsAreConsistent(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range All {
		if p.Kind == "" || seen[p.Kind] || !strings.HasPrefix(p.BaseURL, "http") {
			t.Errorf("%+v", p)
		}
		seen[p.Kind] = true
		for name := range p.Refused {
			if slices.Contains(p.Dropped, name) || p.Renamed[name] != "" {
				t.Errorf("%s: %s has two rules", p.Kind, name)
			}
		}
	}
	if _, ok := Of("openai"); ok {
		t.Error("openai is the protocol itself")
	}
}

// Every kind has a vendor, and the page for operators says how each vendor is found.
func TestVendorsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/how-to/connect-a-provider.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	_, table, _ := strings.Cut(string(page), "| provider | found by |")
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			rows[strings.Trim(cells[1], " `")] = cells[2]
		}
	}
	for _, kind := range append(Kinds(), "openai", "anthropic", "gemini", "bedrock") {
		if v, ok := VendorOf(kind); !ok || v.Kind != kind {
			t.Errorf("%s has no vendor", kind)
		}
	}
	for _, v := range Vendors {
		if v.Model == "" || !v.Chats() {
			continue // it is not found
		}
		wants := append(slices.Clone(v.KeyVariables), v.URLVariable)
		if v.OwnedBy != "" {
			wants = append(wants, strings.TrimSuffix(strings.TrimPrefix(v.LocalURL(), "http://"), "/v1"), "`"+v.OwnedBy+"`")
		}
		for _, want := range wants {
			if !strings.Contains(rows[v.Name], want) {
				t.Errorf("%s: the page lacks %s", v.Name, want)
			}
		}
	}
}
