package prompttest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptfile"
)

// importAs gives a prompt of acme's an id of another registry.
func (r *rig) importAs(name, id, text string) {
	r.Helper()
	object := fmt.Sprintf(`{"prompts":[{"name":%q,"aliases":[{"id":%q}],"versions":[{"version":1,"kind":"text","text":%q}]}]}`, name, id, text)
	report := r.imports(prompt.ImportOrder{Files: []promptfile.File{{Path: "x.json", Text: object}}, Options: promptfile.Options{Format: promptfile.JSON}})
	if state := report.Prompts[0].State; state == prompt.ImportFailed {
		r.Fatalf("import of %s: %+v", name, report.Prompts[0])
	}
}

func (r *rig) imports(o prompt.ImportOrder) *prompt.ImportReport {
	r.Helper()
	report, err := r.Import(r.Context(), app, o)
	r.must("import", err)
	return report
}

func openAIFile(id string, versions ...string) []promptfile.File {
	var all []string
	for _, v := range versions {
		all = append(all, fmt.Sprintf(`{"id":%q,"version":%q,"name":"hosted/answer","instructions":"Version %s for {{who}}."}`, id, v, v))
	}
	return []promptfile.File{{Path: "hosted.json", Text: "[" + strings.Join(all, ",") + "]"}}
}

func aliasesResolve(r *rig) {
	ctx := r.Context()
	far := r.resolver()
	report := r.imports(prompt.ImportOrder{Files: openAIFile("pmpt_68aa", "3", "1")})
	r.wantSame("numbers", report.Prompts[0].Versions, []prompt.VersionImport{{Written: "1", ImportedVersion: prompt.ImportedVersion{N: 1, Created: true}}, {Written: "3", ImportedVersion: prompt.ImportedVersion{N: 3, Created: true}}})
	name, err := r.NameOf(ctx, acme, "pmpt_68aa")
	if err != nil || name != "hosted/answer" {
		r.Errorf("the id names %q, %v", name, err)
	}
	own := prompt.ViewPrompt.Format(r.prompt("hosted/answer").ID)
	if name, err = r.NameOf(ctx, acme, own); err != nil || name != "hosted/answer" {
		r.Errorf("its own id names %q, %v", name, err)
	}
	for id, want := range map[string]penstock.Code{"pmpt_none": penstock.CodeNotFound, "\x00": penstock.CodeNotFound, "": penstock.CodeNotFound, own + "x": penstock.CodeNotFound} {
		_, err := r.NameOf(ctx, acme, id)
		r.wantCode(fmt.Sprintf("the id %q", id), err, want)
	}
	_, err = r.NameOf(ctx, umbra, own)
	r.wantCode("another tenant's id", err, penstock.CodeNotFound)
	ref, err := far.Identify(ctx, acme, "pmpt_68aa", "3")
	if r.must("identify", err); ref.Version != 3 {
		r.Errorf("version 3 is %+v", ref)
	}
	found, err := far.Resolve(ctx, acme, content.Reference{Name: "hosted/answer"})
	if r.must("production", err); found.Version != 3 {
		r.Errorf("production is version %d", found.Version)
	}
	// A prompt with versions of its own: the numbers of the file mean others. A process that knows the prompt sees them.
	r.save("mine", "a")
	r.save("mine", "b")
	if _, err = far.Resolve(ctx, acme, content.Reference{Name: "mine", Version: 1}); err != nil {
		r.Error(err)
	}
	theirs := exported(`{"name":"mine","aliases":[{"id":"pmpt_m","versions":{"1":1}}],"versions":[{"version":1,"kind":"text","text":"theirs"}]}`)
	r.imports(prompt.ImportOrder{Files: theirs})
	r.must("refresh", far.Refresh(ctx))
	if ref, err = far.Identify(ctx, acme, "pmpt_m", "1"); err != nil || ref.Version != 3 {
		r.Errorf("their version 1 is %+v, %v", ref, err)
	}
	taken := r.imports(prompt.ImportOrder{Files: exported(`{"name":"thief","aliases":[{"id":"pmpt_m"}],"versions":[{"version":1,"kind":"text","text":"x"}]}`)})
	if one := taken.Prompts[0]; one.State != prompt.ImportFailed || !strings.Contains(one.Problems[0].Message, "belongs to the prompt mine") {
		r.Errorf("an id of another prompt: %+v", one)
	}
	_, err = r.Prompt(ctx, acme, "thief")
	r.wantCode("a prompt whose import failed", err, penstock.CodeNotFound)
}

// exported are files with a complete export.
func exported(prompts ...string) []promptfile.File {
	return []promptfile.File{{Path: "export.json", Text: `{"object":"prompt.export","prompts":[` + strings.Join(prompts, ",") + `]}`}}
}

func importsAreWhole(r *rig) {
	ctx := r.Context()
	files := openAIFile("pmpt_1", "1", "2")
	before := r.count(`SELECT (SELECT COUNT(*) FROM audit) + (SELECT COUNT(*) FROM prompts)`)
	trial := r.imports(prompt.ImportOrder{Files: files, Trial: true})
	if after := r.count(`SELECT (SELECT COUNT(*) FROM audit) + (SELECT COUNT(*) FROM prompts)`); after != before {
		r.Errorf("a trial left %d rows", after-before)
	}
	done := r.imports(prompt.ImportOrder{Files: files})
	trial.Prompts[0].Labels, done.Prompts[0].Labels = nil, nil // with times
	r.wantSame("the trial and the import", trial, done)
	again := r.imports(prompt.ImportOrder{Files: files})
	if one := again.Prompts[0]; one.State != prompt.ImportUnchanged || one.Versions[1].Created {
		r.Errorf("the second import: %+v", one)
	}
	// A quota that the second version exceeds: nothing of the prompt stays.
	small := app
	small.Tenant.StoredBytes = r.count(`SELECT COALESCE(SUM(job_bytes), 0) FROM stored WHERE tenant_id = 'acme'`) + 100
	report, err := r.Import(ctx, small, prompt.ImportOrder{Files: exported(`{"name":"big","versions":[{"version":1,"kind":"text","text":"fits"},{"version":2,"kind":"text","text":"` + strings.Repeat("x", 200) + `"}]}`)})
	r.must("import beyond the quota", err)
	if one := report.Prompts[0]; one.State != prompt.ImportFailed {
		r.Errorf("beyond the quota: %+v", one)
	}
	_, err = r.Prompt(ctx, acme, "big")
	r.wantCode("after a failed import", err, penstock.CodeNotFound)
	// A prompt of which the caller knows an older state.
	stale := r.imports(prompt.ImportOrder{Files: exported(`{"name":"hosted/answer","base":1,"versions":[{"kind":"chat","messages":[{"role":"user","content":"x"}]}]}`)})
	if one := stale.Prompts[0]; one.State != prompt.ImportFailed || !strings.Contains(one.Problems[0].Message, "is 2, not 1") {
		r.Errorf("a stale base: %+v", one)
	}
	// Prompts include each other in any order, and by versions in turns.
	turns := r.imports(prompt.ImportOrder{Files: exported(
		`{"name":"a","versions":[{"version":1,"kind":"text","text":"a1"},{"version":2,"kind":"text","text":"{{> b@1}}","references":[{"written":"b@1","name":"b","version":1}]}]}`,
		`{"name":"b","versions":[{"version":1,"kind":"text","text":"{{> a@1}}","references":[{"written":"a@1","name":"a","version":1}]}]}`,
		`{"name":"c","versions":[{"version":1,"kind":"text","text":"{{> c@1}}"}]}`)})
	r.wantSame("states", []prompt.ImportState{turns.Prompts[0].State, turns.Prompts[1].State, turns.Prompts[2].State}, []prompt.ImportState{prompt.ImportCreated, prompt.ImportCreated, prompt.ImportFailed})
	if got := r.rendered("a", content.Reference{Version: 2}); got != "a1" {
		r.Errorf("rendered %q", got)
	}
	// A reference by a number of the file follows the number here.
	r.save("lib", "other")
	r.imports(prompt.ImportOrder{Files: []promptfile.File{{Path: "l.json", Text: `[{"name":"user","version":1,"prompt":"<@@@langfusePrompt:name=lib|version=1@@@>"},{"name":"lib","version":1,"prompt":"theirs"}]`}}})
	if got := r.rendered("user", content.Reference{Version: 1}); got != "<theirs>" {
		r.Errorf("rendered %q", got)
	}
	v, err := r.Version(ctx, acme, prompt.VersionKey{Name: "user", N: 1})
	if r.must("read", err); v.Content.Text != "<{{> lib@2}}>" {
		r.Errorf("the text is %q", v.Content.Text)
	}
}

func importsKeepProtection(r *rig) {
	_, err := r.SetProtection(r.Context(), person("BOS", penstock.RoleAdmin), prompt.Protection{Label: content.LabelDefault, Approval: true}, prompt.Condition{})
	r.must("protect", err)
	file := []promptfile.File{{Path: "l.json", Text: `[{"name":"p","version":1,"prompt":"one","labels":["production","canary"]},{"name":"p","version":2,"prompt":"two"}]`}}
	report := r.imports(prompt.ImportOrder{Files: file})
	p := r.prompt("p")
	if len(p.Labels) != 2 || p.Labels[1].Label != "canary" || len(report.Prompts[0].Problems) != 1 {
		r.Errorf("labels %+v, problems %+v", p.Labels, report.Prompts[0].Problems)
	}
	r.move("p", "canary", 2)
	kept := r.imports(prompt.ImportOrder{Files: file, Existing: prompt.KeepLabels})
	if l := r.prompt("p").Labels[1]; l.Version != 2 || len(kept.Prompts[0].Problems) != 2 {
		r.Errorf("a label that was moved: %+v, %+v", l, kept.Prompts[0])
	}
	r.imports(prompt.ImportOrder{Files: file, Existing: prompt.MoveLabels})
	if l := r.prompt("p").Labels[1]; l.Version != 1 {
		r.Errorf("a label that is moved: %+v", l)
	}
}

// exportRoundTrip holds that the export of an imported export is the same, for random registries.
func exportRoundTrip(r *rig) {
	random := rand.New(rand.NewPCG(7, 11))
	names := []string{"lib/a", "lib/b", "support/answer", "support/triage"}
	for range 60 {
		name := names[random.IntN(len(names))]
		text := fmt.Sprintf("text %d\n{{#if v%d}}x{{/if}}", random.IntN(30), random.IntN(3))
		if other := names[random.IntN(len(names))]; random.IntN(3) == 0 {
			if p, err := r.Prompt(r.Context(), acme, other); err == nil && p.Latest > 0 {
				text += fmt.Sprintf("{{> %s@%d}}", other, 1+random.Int64N(p.Latest))
			}
		}
		v, _, err := r.Save(r.Context(), app, prompt.Order{Name: name, Content: textOf(text), Message: "m"})
		if penstock.ErrorCode(err) == penstock.CodeInvalidRequest { // it includes a deleted version, or is too deep
			continue
		}
		r.must("save", err)
		switch random.IntN(4) {
		case 0:
			r.move(name, []string{"production", "canary"}[random.IntN(2)], v.N)
		case 1:
			if err := r.DeleteVersion(r.Context(), app, prompt.VersionKey{Name: name, N: v.N}); err != nil {
				r.wantCode("delete", err, penstock.CodeConflict)
			}
		}
	}
	r.importAs("lib/a", "pmpt_old", "imported")
	first := r.export(app)
	other := key(umbra, "app")
	report, err := r.Import(r.Context(), other, prompt.ImportOrder{Files: []promptfile.File{{Path: "export.json", Text: first}}})
	r.must("import the export", err)
	for _, p := range report.Prompts {
		if p.State != prompt.ImportCreated {
			r.Errorf("%s: %+v", p.Name, p)
		}
	}
	r.wantSame("the second export", r.comparable(r.export(other)), r.comparable(first))
}

func (r *rig) export(caller penstock.Principal) string {
	r.Helper()
	var all []string
	r.must("export", r.Export(r.Context(), caller.Tenant.ID, prompt.ExportOrder{Format: promptfile.JSON}, func(w promptfile.Written) error {
		all = append(all, w.File.Text)
		return nil
	}))
	return `{"object":"prompt.export","prompts":[` + strings.Join(all, ",") + `]}`
}

// comparable is an export without ids, times and authors, which belong to a registry, and without deleted versions at the end.
func (r *rig) comparable(text string) (all []map[string]any) {
	r.Helper()
	var export struct {
		Prompts []map[string]any `json:"prompts"`
	}
	r.must("read the export", json.Unmarshal([]byte(text), &export))
	for _, p := range export.Prompts {
		own := p["id"]
		delete(p, "id")
		p["aliases"] = slices.DeleteFunc(p["aliases"].([]any), func(a any) bool {
			id, _ := a.(map[string]any)["id"].(string)
			return id == own || id != "pmpt_old" // the id of the first registry is known in the second
		})
		p["versions"] = slices.DeleteFunc(p["versions"].([]any), func(v any) bool {
			one := v.(map[string]any)
			delete(one, "created_at")
			delete(one, "author")
			delete(one, "parent") // a version whose parent was deleted gets another
			return one["deleted"] == true
		})
	}
	return export.Prompts
}
