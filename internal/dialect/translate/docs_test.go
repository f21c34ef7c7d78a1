package translate

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The decision record lists what the tables say, and nothing else.
func TestDecisionListsEveryMember(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/decisions/0012-translation.md")
	if err != nil {
		t.Fatal(err)
	}
	for heading, table := range map[string]rules{"Chat completions to messages:": chatRules, "Messages to chat completions:": messageRules, "Responses to chat completions:": responseRules} {
		_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
		if !found {
			t.Fatalf("there is no section %q", heading)
		}
		for word, disposition := range map[string]disposition{"carried": carried, "dropped": dropped, "refused": rejected} {
			_, row, _ := strings.Cut(section, "\n| "+word+" | ")
			row, _, _ = strings.Cut(row, " |\n")
			listed := strings.Fields(strings.ReplaceAll(row, "`", ""))
			slices.Sort(listed)
			want := slices.DeleteFunc(slices.Sorted(maps.Keys(table)), func(name string) bool { return table[name].disposition != disposition })
			if diff := cmp.Diff(want, listed); diff != "" {
				t.Errorf("%s %s (-code +record):\n%s", heading, word, diff)
			}
		}
	}
}

// Every rule that refuses says what to do instead.
func TestRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, table := range []rules{chatRules, messageRules, responseRules} {
		for name, rule := range table {
			if (rule.disposition == rejected) != (rule.instead != "") {
				t.Errorf("%s: disposition %d, instead %q", name, rule.disposition, rule.instead)
			}
		}
	}
}
