package translate

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/provider/preset"
)

// parameter is a member of a body, with a value that asks for something.
type parameter struct {
	name   string // as the table has it
	member string // that carries it
	value  string
	with   string // further members that it needs
}

const oneTool = `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]`

var chatParameters = []parameter{
	{"`temperature` up to 1", "temperature", "0.5", ""},
	{"`temperature` above 1", "temperature", "1.5", ""},
	{"`top_p`", "top_p", "0.5", ""},
	{"`stop`", "stop", `["END"]`, ""},
	{"`frequency_penalty`", "frequency_penalty", "0.5", ""},
	{"`presence_penalty`", "presence_penalty", "0.5", ""},
	{"`seed`", "seed", "7", ""},
	{"`logit_bias`", "logit_bias", `{"50256":-100}`, ""},
	{"`logprobs`", "logprobs", "true", ""},
	{"`n`", "n", "2", ""},
	{"`max_completion_tokens`", "max_completion_tokens", "100", ""},
	{"`response_format`: `json_schema`", "response_format", `{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}`, ""},
	{"`response_format`: `json_object`", "response_format", `{"type":"json_object"}`, ""},
	{"`reasoning_effort`", "reasoning_effort", `"high"`, ""},
	{"`tools`", "tools", strings.TrimPrefix(oneTool, `"tools":`), ""},
	{"`tool_choice`", "tool_choice", `"required"`, oneTool},
	{"`parallel_tool_calls: false`", "parallel_tool_calls", "false", oneTool},
	{"`user`", "user", `"u"`, ""},
	{"`service_tier`", "service_tier", `"flex"`, ""},
	{"`prediction`", "prediction", `{"type":"content","content":"x"}`, ""},
	{"`verbosity`", "verbosity", `"low"`, ""},
}

const ownTool = `"tools":[{"name":"look","input_schema":{"type":"object"}}]`

var messageParameters = []parameter{
	{"`temperature` up to 1", "temperature", "0.5", ""},
	{"`temperature` above 1", "temperature", "1.7", ""},
	{"`top_p`", "top_p", "0.5", ""},
	{"`top_k`", "top_k", "5", ""},
	{"`stop_sequences`", "stop_sequences", `["END"]`, ""},
	{"`output_config.format`", "output_config", `{"format":{"type":"json_schema","schema":{"type":"object"}}}`, ""},
	{"`output_config.effort`", "output_config", `{"effort":"medium"}`, ""},
	{"`thinking`", "thinking", `{"type":"enabled","budget_tokens":2048}`, ""},
	{"`tools`", "tools", strings.TrimPrefix(ownTool, `"tools":`), ""},
	{"`tool_choice`", "tool_choice", `{"type":"any"}`, ownTool},
	{"`disable_parallel_tool_use`", "tool_choice", `{"type":"auto","disable_parallel_tool_use":true}`, ownTool},
	{"`metadata.user_id`", "metadata", `{"user_id":"u"}`, ""},
	{"`service_tier`", "service_tier", `"standard_only"`, ""},
	{"`mcp_servers`", "mcp_servers", `[{"type":"url","url":"https://example.com","name":"x"}]`, ""},
	{"`container`", "container", `"c"`, ""},
}

// fate is what a translation does with a parameter. A parameter that changes nothing and is not named as dropped is lost silently.
func fate(t *testing.T, tr *translation, base string, p parameter) string {
	t.Helper()
	body := func(members ...string) []byte {
		members = slices.DeleteFunc(append([]string{base, p.with}, members...), func(m string) bool { return m == "" })
		return []byte("{" + strings.Join(members, ",") + "}")
	}
	without, _, err := tr.Request(body(), testMost)
	if err != nil {
		t.Fatalf("%s: the rest is refused: %v", p.name, err)
	}
	with, dropped, err := tr.Request(body(`"`+p.member+`":`+p.value), testMost)
	switch {
	case err != nil && p.member == "n":
		return "a call for each"
	case err != nil:
		if e := penstock.AsError(err); e.Code != penstock.CodeInvalidRequest || !strings.HasPrefix(cmp.Or(e.Param, "?"), strings.SplitN(p.member, ".", 2)[0]) {
			t.Errorf("%s: the refusal names %q: %v", p.name, e.Param, err)
		}
		return "refused"
	case slices.ContainsFunc(dropped, func(path string) bool {
		return path == p.member || strings.HasPrefix(path, p.member+".")
	}) && string(with) == string(without):
		return "dropped"
	case tr.oneCall != nil && tr.oneCall(body(`"`+p.member+`":`+p.value)): // see TestFirstCallIsKept
		return "first call kept"
	case string(with) == string(without):
		t.Errorf("%s is lost silently: %s, dropped %v", p.name, with, dropped)
		return "lost"
	}
	return "mapped"
}

// vendors are the presets that do not honour a member of a chat.
func vendors(p parameter) string {
	var refuse, drop, each []string
	for _, v := range preset.All {
		neutral, refused := v.Refused[p.member]
		switch {
		case p.member == "n" && refused:
			each = append(each, v.Kind)
		case refused && !slices.Contains(neutral, p.value):
			refuse = append(refuse, v.Kind)
		case slices.Contains(v.Dropped, p.member):
			drop = append(drop, v.Kind)
		}
	}
	var said []string
	if len(each) > 0 {
		said = append(said, "a call for each: "+strings.Join(each, ", "))
	}
	if len(refuse) > 0 {
		said = append(said, "refused: "+strings.Join(refuse, ", "))
	}
	if len(drop) > 0 {
		said = append(said, "dropped: "+strings.Join(drop, ", "))
	}
	return strings.Join(said, "; ")
}

// The page on dialects says what becomes of each parameter on each kind of target, and none is lost silently.
func TestParameterTable(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("Parameters of chats:\n\n| parameter | `openai` | `anthropic` | `gemini` | `bedrock` | vendors with a preset |\n|---|---|---|---|---|---|\n")
	for _, p := range chatParameters {
		const base = `"messages":[{"role":"user","content":"Hi"}]`
		fmt.Fprintf(&table, "| %s | native | %s | %s | %s | %s |\n", p.name, fate(t, chatToMessages, base, p), fate(t, chatToGemini, base, p), fate(t, chatToConverse, base, p), vendors(p))
	}
	table.WriteString("\nParameters of messages:\n\n| parameter | `anthropic` | `openai` | `gemini` | `bedrock` |\n|---|---|---|---|---|\n")
	for _, p := range messageParameters {
		const base = `"max_tokens":8192,"messages":[{"role":"user","content":"Hi"}]`
		fmt.Fprintf(&table, "| %s | native | %s | %s | %s |\n", p.name, fate(t, messagesToChat, base, p), fate(t, messagesToGemini, base, p), fate(t, messagesToConverse, base, p))
	}
	const path, begin, end = "../../../docs/reference/dialects.md", "<!-- parameters: generated by TestParameterTable -->\n", "<!-- parameters: end -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("the page has no place for the table")
	}
	want := before + begin + "\n" + table.String() + "\n" + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(page) {
		t.Errorf("the table differs; -update rewrites it:\n%s", table.String())
	}
}
