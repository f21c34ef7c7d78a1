package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptfile"
	"penstock/internal/rest"
)

// promptSamples are answers about prompts.
func promptSamples() []any {
	labels := []prompt.Label{{Label: "latest", Version: 2, UpdatedAt: sampleTime}, {Label: "production", Version: 1, Revision: 3, UpdatedBy: "app", UpdatedAt: sampleTime}}
	full := prompt.Prompt{ID: "01JQ0000000000000000000000", Name: "support/answer", Kind: content.KindChat, Latest: 2, Versions: 2, Draft: 4, Labels: labels, CreatedBy: "app", CreatedAt: sampleTime, UpdatedAt: sampleTime, ArchivedAt: sampleTime}
	chat := prompt.Version{Name: "support/answer", Kind: content.KindChat, N: 2, SHA256: "5f1c", Parent: 1, Author: penstock.Author{Name: "app"}, Message: "shorter", CreatedAt: sampleTime, DeletedAt: sampleTime,
		References: []content.Resolved{{Written: "lib/tone", Name: "lib/tone", Version: 1}}, Content: content.Content{Kind: content.KindChat, Messages: []content.Message{
			{Role: "user", Name: "ann", Content: content.Body{Parts: []content.Part{{Type: "text", Text: "x"}, {Type: "image_url", ImageURL: &content.ImageURL{URL: "u", Detail: "low"}}}}},
			{Role: "assistant", ToolCalls: []content.ToolCall{{ID: "c", Type: "function", Function: content.Function{Name: "f", Arguments: "{}"}}}},
			{Role: "tool", ToolCallID: "c", Content: content.Body{Text: "42"}}, {Placeholder: "history"},
		}, Config: content.Config{"model": []byte(`"fast"`)}, InputSchema: []byte(`{"type":"object"}`)}}
	plain := prompt.Version{Name: "lib/tone", Kind: content.KindText, N: 1, CreatedAt: sampleTime, Content: content.Content{Kind: content.KindText, Text: "Be kind."}}
	draft := promptDraftView{Object: "prompt.draft", Name: "p", Kind: content.KindText, Base: number(1), Messages: []promptMessage{}, Config: map[string]jsontext.Value{}, InputSchema: null, VariablesSchema: null, Problem: &rest.ErrorBody{Code: penstock.CodeInvalidRequest}, UpdatedAt: sampleTime}
	request := prompt.Request{ID: "01JQ0000000000000000000000", Prompt: "p", Label: "production", Version: 2, From: 1, State: prompt.RequestApproved, By: penstock.Author{Name: "app"}, At: sampleTime, DecidedBy: "ann", DecidedAt: sampleTime}
	one := int64(1)
	line, zero := []promptLineDiffView{{Change: content.Added, Text: "x"}}, 0
	moves := []prompt.Move{{Seq: 2, Label: "production", From: 1, To: 2, By: "app", ApprovedBy: "ann", At: sampleTime}, {Seq: 1, Label: "production", At: sampleTime}}
	return []any{
		newPromptView(full), newPromptView(prompt.Prompt{Kind: content.KindText, CreatedAt: sampleTime, UpdatedAt: sampleTime}),
		promptPageView{CursorPage: rest.NewCursorPage([]promptView{newPromptView(full)}, "support/answer"), Folders: []string{"support/"}}, promptPageView{CursorPage: rest.NewCursorPage[promptView](nil, ""), Folders: []string{}},
		newPromptLabelView(labels[0]), newPromptLabelView(labels[1]), rest.Page[promptLabelView]{Object: "list", Data: newPromptView(full).Labels},
		newWholeVersionView(chat), newWholeVersionView(plain), numbered([]prompt.Version{chat, plain}, 1, newPromptVersionView, func(v prompt.Version) int64 { return v.N }),
		newPromptImportView(&prompt.ImportReport{Format: promptfile.Langfuse, Problems: []promptfile.Problem{{Path: "a.json", Line: 3, Severity: promptfile.SeverityWarning}}, Prompts: []prompt.PromptImport{
			{Name: "p", State: prompt.ImportCreated, Versions: []prompt.VersionImport{{Written: "3"}, {}}, Labels: []prompt.Label{{Label: "production"}}}}}),
		promptExportView{Object: "prompt.export", Format: promptfile.Dotprompt, Files: []promptExportedFileView{{Path: "p.prompt"}}, Problems: []promptProblemView{}},
		promptExportView{Object: "prompt.export", Format: promptfile.JSON, Prompts: []promptStoredView{{Name: "p", Kind: "text", Labels: map[string]int64{}, Aliases: []jsontext.Value{jsontext.Value("{}")}, Versions: []jsontext.Value{jsontext.Value("{}")}}}, Problems: []promptProblemView{}},
		draft, promptUsesView{Object: "prompt.uses", Labels: newPromptView(full).Labels, Dependants: []promptDependantView{{Name: "p", Version: 1, Of: 1}}},
		promptDiffView{Object: "prompt.diff", From: &one, Messages: []promptMessageDiffView{{Change: content.Changed, From: &zero, Role: "user", Lines: line}}, Config: newMemberDiffs([]content.MemberDiff{{Name: "model", To: []byte(`"a"`)}}),
			InputSchema: newMemberDiffs(nil), References: []promptReferenceDiffView{{Written: "lib/tone", To: &one}}},
		promptRenderView{Object: "prompt.render", Messages: newPromptMessages(chat.Content.Messages), Config: map[string]jsontext.Value{}, Endpoint: penstock.EndpointChat, Body: null, Dropped: []string{}, InputSchema: null, AtMost: &trialBoundView{1, "0.000000001"}},
		numbered(moves, 1, newPromptMoveView, func(m prompt.Move) int64 { return m.Seq }),
		requestPromptView{promptUseView: promptUseView{Name: "p", Version: 1, SHA256: "5f1c", Label: text("production")}, Object: "request.prompt", Variables: jsontext.Value("{}"), Messages: newPromptMessages(chat.Content.Messages), Config: map[string]jsontext.Value{}},
		newPromptRequestView(request), rest.NewCursorPage([]promptRequestView{newPromptRequestView(prompt.Request{State: prompt.RequestOpen, At: sampleTime})}, ""),
		newPromptProtectionView(prompt.Protection{Label: "production", Roles: prompt.DefaultRoles, Revision: 1, At: sampleTime}), rest.Page[promptProtectionView]{Object: "list", Data: []promptProtectionView{}},
	}
}
