package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/playground"
	"penstock/internal/prompt/content"
	"penstock/internal/rest"
)

// playgroundSamples are answers of the playground: the fullest and the barest.
func playgroundSamples() []any {
	result, valid, call := "sunny", true, 0
	by := penstock.Author{ID: "per_01JQ0000000000000000000000", Name: "ada@example.com"}
	cell := playground.Cell{
		N: 1, Column: 1, State: playground.CellSucceeded, Attempt: 2, Prompt: &playground.PromptRef{Name: "support/answer", Version: 7, SHA256: "ab"}, Model: "fast", Target: "main",
		Requests: []penstock.ID{"01JQ0000000000000000000000"}, SchemaValid: &valid,
		Result:  playground.Result{Output: playground.Output{Text: "Hi", Reasoning: "hm", ToolCalls: []playground.ToolCall{{ID: "c", Name: "weather", Arguments: "{}", Result: &result}, {}}}, FinishReason: "stop", Error: &playground.Problem{Code: penstock.CodeCancelled, Message: "Stopped."}},
		Metrics: playground.Metrics{FirstToken: time.Millisecond, Duration: time.Second, InputTokens: 1, OutputTokens: 2, Cost: 3},
		Marks:   []playground.Mark{{Author: by, Rating: -1, Comment: "no", Correction: "yes", At: sampleTime}, {Author: by, At: sampleTime}},
	}
	run := playground.Run{ID: "01JQ0000000000000000000000", Tenant: "acme", Name: "n", State: playground.RunStopped, Author: by, CreatedAt: sampleTime, FinishedAt: sampleTime, Models: []string{"fast"},
		Prompts: []string{"support/answer@7"}, Shared: playground.SharedRole, Revision: 2, Seq: 9}
	opened := playground.Opened{Run: run, Cells: []playground.Cell{cell, {State: playground.CellRunning}}, Setup: playground.Setup{
		Columns: []playground.Column{
			{Prompt: &playground.Reference{Name: "support/answer", Label: "production"}, Model: "fast", Params: content.Config{"temperature": json.RawMessage("1")}, Tools: json.RawMessage("[]"), ToolResults: map[string]string{"a": "b"}, ResponseFormat: json.RawMessage("{}")},
			{Content: &content.Content{Kind: content.KindText, Text: "Hi"}},
		}, Rows: []json.RawMessage{json.RawMessage("{}")}, Trials: 2}}
	bare := playground.Opened{Run: playground.Run{ID: "01JQ0000000000000000000000", State: playground.RunRunning, Shared: playground.Private}}
	role := playground.Share{ID: "01JQ0000000000000000000000", Tenant: "acme", Run: run.ID, Kind: playground.ShareRole, Role: penstock.RoleViewer, CreatedBy: by, CreatedAt: sampleTime}
	snapshot := playground.Share{ID: "01JQ0000000000000000000000", Tenant: "acme", Run: run.ID, Kind: playground.ShareSnapshot, CreatedBy: by, CreatedAt: sampleTime, ExpiresAt: sampleTime}
	return []any{
		newPlaygroundRunView(opened), newPlaygroundRunView(bare), rest.NewCursorPage([]playgroundRunSummary{newPlaygroundRunSummary(run), newPlaygroundRunSummary(bare.Run)}, "prun_1"),
		newPlaygroundShareView(role), rest.Page[playgroundShareView]{Object: "list", Data: []playgroundShareView{newPlaygroundShareView(snapshot)}}, playgroundOpenShareView{newPlaygroundShareView(snapshot), newPlaygroundRunView(opened)},
		newPlaygroundMarkView(cell.Marks[0]), playgroundDeltaView{Cell: 1, Kind: playground.DeltaArguments, Call: &call, Text: "{", Offset: 3}, playgroundDeltaView{Kind: playground.DeltaText},
		playgroundExportView{RunID: "prun_1", Variables: jsontext.Value("{}"), Messages: jsontext.Value("[]"), Config: map[string]jsontext.Value{"model": jsontext.Value(`"fast"`)}, playgroundCellView: newPlaygroundCellView(&cell)},
		playgroundEstimateView{Object: "playground.estimate", Calls: 2, AtMostUSD: "0.1", Remaining: text("1"), Columns: []playgroundColumnEstimateView{
			{Model: text("fast"), InputTokens: 3, AtMostUSD: "0.1", Rendered: &playgroundColumnRenderedView{newPromptMessages([]content.Message{{Role: "user", Content: content.Body{Text: "Hi"}}}), newPromptConfig(content.Config{"model": json.RawMessage(`"fast"`)})}},
			{AtMostUSD: "0", Error: &playgroundColumnErrorView{penstock.CodeInvalidRequest, "No.", text("setup.columns[1]")}}}},
	}
}

// FuzzPlaygroundSetup reads setups of any bytes. One that is read shows as a setup that reads as the same one.
func FuzzPlaygroundSetup(f *testing.F) {
	for _, example := range []any{runExample, map[string]any{"setup": map[string]any{"columns": []any{}, "rows": []any{}}}} {
		text, err := json.Marshal(example)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"setup":{"columns":[{"prompt":null,"content":{"kind":"chat","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]},"tools":null,"params":{"n":null}}],"rows":[null,1,"x",{"a":[]}],"trials":0}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var in playgroundRunOrder
		if rest.Decode(text, &in) != nil {
			return
		}
		setup := in.Setup.setup()
		shown, err := json.Marshal(playgroundRunOrder{Setup: playgroundSetupInput{}}) // the type itself can be written
		if err != nil {
			t.Fatal(err, shown)
		}
		once, err := json.Marshal(setup)
		if err != nil {
			return // a value inside is no JSON that can be written again
		}
		view := newPlaygroundSetupView(setup)
		again := playgroundSetupInput{Rows: view.Rows, Trials: &view.Trials}
		for _, c := range view.Columns {
			again.Columns = append(again.Columns, playgroundColumnInput(c))
		}
		if twice, err := json.Marshal(again.setup()); err != nil || string(once) != string(twice) {
			t.Errorf("%s\nshows as\n%s (%v)", once, twice, err)
		}
	})
}
