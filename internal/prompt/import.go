package prompt

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptfile"
)

// NewImport is a prompt with versions that are added together.
type NewImport struct {
	ID       penstock.ID // if the prompt does not exist yet
	Name     string
	Kind     content.Kind
	Base     *int64       // the newest version that the prompt must have, 0 for none; nil for any
	Versions []NewVersion // in the order of their numbers
	Labels   []NewLabel
	Aliases  []NewAlias
	Existing ExistingLabels
	Reason   string // for the history of labels
	Actor    penstock.Author
	Trial    bool // nothing is stored
}

// NewLabel is a label of an import, with the index of its version.
type NewLabel struct {
	Label string
	Index int
	Asked Stamp // of the label's protection when it was asked
}

// NewAlias is an alias of an import, with the indexes of the versions that its numbers mean.
type NewAlias struct {
	Alias    string
	Versions map[string]int
}

// ExistingLabels is what an import does with a label that names another version.
type ExistingLabels string

// The choices.
const (
	KeepLabels ExistingLabels = "keep"
	MoveLabels ExistingLabels = "move"
)

// Imported is the result of an import, or of its trial.
type Imported struct {
	New      bool // the prompt did not exist
	Versions []ImportedVersion
	Moved    []Label
	Kept     []Label // labels that name another version
	Aliases  []string
}

// ImportedVersion is a version of an import. It was created, or existed already.
type ImportedVersion struct {
	N       int64
	Created bool
}

// Imports is the storage of imports.
type Imports interface {
	// Import adds versions, labels and aliases to a prompt in one transaction. It creates the prompt if no prompt has this name. Codes:
	// those of SaveVersion and MoveLabel; conflict for another newest version than Base, and for an alias of another prompt.
	Import(ctx context.Context, tenant penstock.TenantID, n NewImport) (Imported, error)
	// Aliases lists the aliases of a prompt, in order. Codes: not_found.
	Aliases(ctx context.Context, tenant penstock.TenantID, name string) ([]Alias, error)
}

// ImportOrder is an import that a caller makes.
type ImportOrder struct {
	Files    []promptfile.File
	Options  promptfile.Options
	Existing ExistingLabels
	Trial    bool
}

// ImportState is the result of one prompt.
type ImportState string

// The states.
const (
	ImportCreated   ImportState = "created"   // the prompt is new
	ImportUpdated   ImportState = "updated"   // it has new versions, labels or ids
	ImportUnchanged ImportState = "unchanged" // it had everything already
	ImportFailed    ImportState = "failed"    // nothing of it was imported
)

// PromptImport is the result of one prompt.
type PromptImport struct {
	Name     string
	State    ImportState
	Versions []VersionImport
	Labels   []Label // that were moved
	Aliases  []string
	Problems []promptfile.Problem
}

// VersionImport is a version of a file with its number here.
type VersionImport struct {
	Written string // in the file, "" for none
	ImportedVersion
}

// ImportReport is the result of an import.
type ImportReport struct {
	Format   promptfile.Format
	Prompts  []PromptImport
	Problems []promptfile.Problem // of files, not of one prompt
}

// Import adds the prompts of files. Each prompt is imported as a whole or not at all; one that fails is in the report. The same files
// imported again change nothing. Codes: invalid_request, too_large.
func (s *Service) Import(ctx context.Context, caller penstock.Principal, o ImportOrder) (*ImportReport, error) {
	set, err := promptfile.Read(o.Files, o.Options)
	if err != nil {
		return nil, err
	}
	im := &importing{Service: s, caller: caller, order: o, format: set.Format, done: map[string]*importedPrompt{}, results: map[string]PromptImport{}, needs: map[string][][]need{}}
	for _, p := range set.Prompts {
		if p.Failed() {
			im.results[p.Name] = PromptImport{Name: p.Name, State: ImportFailed, Problems: p.Problems}
		} else {
			im.wait(p)
		}
	}
	if err := im.run(ctx); err != nil {
		return nil, err
	}
	report := &ImportReport{Format: set.Format, Problems: set.Problems}
	for _, p := range set.Prompts {
		report.Prompts = append(report.Prompts, im.results[p.Name])
	}
	return report, nil
}

// importing is an import that is under way.
type importing struct {
	*Service
	caller  penstock.Principal
	order   ImportOrder
	format  promptfile.Format
	pending []*promptfile.Prompt
	needs   map[string][][]need // of pending prompts, by version
	done    map[string]*importedPrompt
	results map[string]PromptImport
}

// importedPrompt are the versions of a prompt that were imported, for prompts that include it.
type importedPrompt struct {
	byNumber map[int64]importedContent // by the numbers of the file
	labels   map[string]importedContent
	newest   importedContent
	step     Imported // the results so far
}

// importedContent is a version with its number here. In a trial it is not stored.
type importedContent struct {
	n        int64
	compiled *content.Compiled
}

// run imports the prompts, each after those that it includes. Versions of prompts can include each other in turns: such prompts
// are imported in several steps.
func (im *importing) run(ctx context.Context) error {
	for len(im.pending) > 0 {
		i := slices.IndexFunc(im.pending, func(p *promptfile.Prompt) bool { return im.ready(p) == len(p.Versions) })
		if i < 0 {
			if i = slices.IndexFunc(im.pending, func(p *promptfile.Prompt) bool { return im.ready(p) > im.finished(p) }); i < 0 {
				return im.circle()
			}
			p := im.pending[i]
			ok, err := im.store(ctx, p, im.ready(p))
			if err != nil {
				return err
			}
			if ok {
				continue
			}
		} else if _, err := im.store(ctx, im.pending[i], len(im.pending[i].Versions)); err != nil {
			return err
		}
		delete(im.needs, im.pending[i].Name)
		im.pending = slices.Delete(im.pending, i, i+1)
	}
	return nil
}

// circle fails the prompts that include each other, or themselves.
func (im *importing) circle() error {
	for _, p := range im.pending {
		im.fail(p, "The prompt includes prompts that include it.")
	}
	im.pending = nil
	return nil
}

func (im *importing) fail(p *promptfile.Prompt, format string, args ...any) {
	one := promptfile.Problem{Path: p.Path, Message: fmt.Sprintf(format, args...), Severity: promptfile.SeverityError}
	im.results[p.Name] = PromptImport{Name: p.Name, State: ImportFailed, Problems: append(p.Problems, one)}
}

// finished is how many versions of a prompt are imported.
func (im *importing) finished(p *promptfile.Prompt) int {
	if d := im.done[p.Name]; d != nil {
		return len(d.byNumber)
	}
	return 0
}

// need is a version that another version includes; 0 for any version.
type need struct {
	name    string
	version int64
}

// wait adds a prompt that is to be imported, with what its versions include.
func (im *importing) wait(p *promptfile.Prompt) {
	im.pending = append(im.pending, p)
	all := make([][]need, len(p.Versions))
	for i, v := range p.Versions {
		if v.References != nil {
			for _, r := range v.References {
				all[i] = append(all[i], need{r.Name, r.Version})
			}
			continue
		}
		parsed, err := content.Parse(v.Content)
		if err != nil { // reported when it is linked
			continue
		}
		for _, r := range parsed.References {
			all[i] = append(all[i], need{r.Name, r.Version})
		}
	}
	im.needs[p.Name] = all
}

// ready is how many versions of a prompt include nothing that is still to be imported.
func (im *importing) ready(p *promptfile.Prompt) int {
	for i, all := range im.needs[p.Name] {
		if slices.ContainsFunc(all, im.waits) {
			return i
		}
	}
	return len(p.Versions)
}

// waits reports whether a version is still to be imported.
func (im *importing) waits(n need) bool {
	if _, pending := im.needs[n.name]; !pending {
		return false
	}
	if d := im.done[n.name]; d != nil && n.version > 0 {
		_, there := d.byNumber[n.version]
		return !there
	}
	return true
}

// store imports the first versions of a prompt, with its labels and ids if these are all. It reports whether the versions were
// stored. Errors are those that end the import.
func (im *importing) store(ctx context.Context, p *promptfile.Prompt, count int) (bool, error) {
	n, linked, err := im.prepare(ctx, p, count)
	var guarded []NewLabel
	if err == nil && count == len(p.Versions) {
		guarded, err = im.name(ctx, p, &n)
	}
	var out Imported
	if err == nil {
		out, err = im.Imports.Import(ctx, im.caller.Tenant.ID, n)
	}
	if err != nil {
		if !blames(err) {
			return false, err
		}
		im.fail(p, "%s", penstock.AsError(err).Message)
		return false, nil
	}
	if d := im.done[p.Name]; d != nil { // a step before this one made the prompt, and some of its versions
		out.New = out.New || d.step.New
		for i, v := range d.step.Versions {
			out.Versions[i].Created = out.Versions[i].Created || v.Created
		}
	}
	im.remember(p, out, linked)
	if count < len(p.Versions) {
		return true, nil
	}
	if !im.order.Trial {
		if err := im.changed(ctx, im.caller.Tenant.ID, p.Name); err != nil {
			return false, err
		}
	}
	return true, im.finish(ctx, p, out, guarded)
}

// blames reports whether an error is about a prompt, and not about the store.
func blames(err error) bool {
	switch penstock.ErrorCode(err) {
	case penstock.CodeInvalidRequest, penstock.CodeTooLarge, penstock.CodeConflict, penstock.CodeQuotaExceeded, penstock.CodeNotFound, penstock.CodeGone, penstock.CodeScopeMissing:
		return true
	}
	return false
}

// prepare links the versions of a prompt and makes their hashes.
func (im *importing) prepare(ctx context.Context, p *promptfile.Prompt, count int) (NewImport, []*content.Compiled, error) {
	actor := im.caller.Author()
	n := NewImport{ID: im.ids.New(im.Clock()), Name: p.Name, Kind: p.Versions[0].Content.Kind, Existing: im.order.Existing, Reason: "import", Actor: actor, Trial: im.order.Trial}
	if im.finished(p) == 0 { // a second step follows the versions of the first
		n.Base = p.Base
	}
	_, err := im.Prompts.Prompt(ctx, im.caller.Tenant.ID, p.Name)
	fresh := penstock.ErrorCode(err) == penstock.CodeNotFound
	if err != nil && !fresh {
		return n, nil, err
	}
	var linked []*content.Compiled
	for i, v := range p.Versions[:count] {
		parsed, references, compiled, err := im.link(ctx, v)
		if err != nil {
			return n, nil, err
		}
		sum, err := parsed.Content.Hash(references)
		if err != nil {
			return n, nil, penstock.Internal(err)
		}
		linked = append(linked, compiled)
		one := NewVersion{Name: p.Name, Content: parsed.Content, SHA256: sum, References: references, Number: v.Number, Author: actor, Message: v.Message, Stored: im.caller.Tenant.StoredBytes}
		if fresh && slices.ContainsFunc(p.Versions[:i], func(before promptfile.Version) bool { return before.Number == v.Parent }) {
			one.Parent = v.Parent // the numbers of a new prompt are those of the file
		}
		n.Versions = append(n.Versions, one)
	}
	return n, linked, nil
}

// link finds the versions that a version includes, among those that were imported and those of the registry.
func (im *importing) link(ctx context.Context, v promptfile.Version) (*content.Parsed, []content.Resolved, *content.Compiled, error) {
	parsed, err := content.Parse(v.Content)
	if err != nil {
		return nil, nil, nil, err
	}
	parts, renumbered := map[string]importedContent{}, map[string]string{}
	for i, written := range parsed.Written {
		r, fixed := parsed.References[i], false
		for _, ref := range v.References {
			if ref.Written == written {
				r, fixed = content.Reference{Name: ref.Name, Version: ref.Version}, true
			}
		}
		found, err := im.included(ctx, r)
		if err != nil {
			return nil, nil, nil, penstock.InvalidParam(parsed.Where(), "{{> %s}}: %s", written, penstock.AsError(err).Message)
		}
		parts[written] = found
		if r.Version > 0 && found.n != r.Version && !fixed {
			renumbered[written] = content.Reference{Name: r.Name, Version: found.n}.String()
		}
	}
	if len(renumbered) > 0 {
		c, err := promptfile.Renumber(v.Content, renumbered)
		if err != nil {
			return nil, nil, nil, penstock.Internal(err)
		}
		if parsed, err = content.Parse(c); err != nil {
			return nil, nil, nil, err
		}
		for before, now := range renumbered {
			parts[now] = parts[before]
		}
	}
	contents, references := map[string]*content.Compiled{}, []content.Resolved(nil)
	for i, written := range parsed.Written {
		contents[written] = parts[written].compiled
		references = append(references, content.Resolved{Written: written, Name: parsed.References[i].Name, Version: parts[written].n})
	}
	compiled, err := parsed.Link(contents)
	return parsed, references, compiled, err
}

// included finds a version by the numbers and labels of the files, or else of the registry. Codes: not_found, gone, conflict.
func (im *importing) included(ctx context.Context, r content.Reference) (importedContent, error) {
	d := im.done[r.Name]
	if d != nil {
		found, there := d.byNumber[r.Version]
		if r.Version == 0 {
			found, there = d.labels[r.Selected()]
		}
		if there {
			return found, nil
		}
	}
	found, err := im.Resolver.Resolve(ctx, im.caller.Tenant.ID, r)
	if err == nil {
		return importedContent{found.Version, found.Content}, nil
	}
	if d != nil && r.Version == 0 && blames(err) {
		return d.newest, nil // the files have no labels
	}
	return importedContent{}, err
}

// name adds the labels and the ids of a prompt. Labels that are protected are returned: they are moved afterwards, as any move.
func (im *importing) name(ctx context.Context, p *promptfile.Prompt, n *NewImport) (guarded []NewLabel, err error) {
	labels := maps.Clone(p.Labels)
	if !im.format.HasLabels() && len(labels) == 0 {
		if _, err := im.Prompts.Prompt(ctx, im.caller.Tenant.ID, p.Name); penstock.ErrorCode(err) == penstock.CodeNotFound {
			labels = map[string]int{content.LabelDefault: len(p.Versions) - 1} // in such files, the newest version is in use
		}
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if err := checkMovable(label); err != nil {
			return nil, err
		}
		rule, err := im.ruleOf(ctx, im.caller.Tenant.ID, p.Name, label)
		if err != nil {
			return nil, err
		}
		one := NewLabel{label, labels[label], rule.Stamp()}
		if rule.applies {
			guarded = append(guarded, one)
		} else {
			n.Labels = append(n.Labels, one)
		}
	}
	for _, a := range p.Aliases {
		if err := CheckAlias(a.Alias); err != nil {
			return nil, err
		}
		for written := range a.Versions {
			if len(written) > MaxAliasVersionBytes {
				return nil, penstock.InvalidParam("version", "The version %q of %s has more than %d bytes.", clip(written), a.Alias, MaxAliasVersionBytes)
			}
		}
		n.Aliases = append(n.Aliases, NewAlias(a))
	}
	return guarded, nil
}

// remember keeps the versions of a prompt for those that include it.
func (im *importing) remember(p *promptfile.Prompt, out Imported, linked []*content.Compiled) {
	d := &importedPrompt{byNumber: map[int64]importedContent{}, labels: map[string]importedContent{}, step: out}
	for i, v := range out.Versions {
		one := importedContent{v.N, linked[i]}
		number := p.Versions[i].Number
		if number == 0 {
			number = -int64(i) - 1 // it has no number that a reference could name
		}
		d.byNumber[number], d.newest = one, one
	}
	for label, i := range p.Labels {
		if i < len(out.Versions) {
			d.labels[label] = importedContent{out.Versions[i].N, linked[i]}
		}
	}
	im.done[p.Name] = d
}

// finish moves protected labels, archives, and reports.
func (im *importing) finish(ctx context.Context, p *promptfile.Prompt, out Imported, guarded []NewLabel) error {
	result := PromptImport{Name: p.Name, State: ImportUnchanged, Labels: out.Moved, Aliases: out.Aliases, Problems: p.Problems}
	warn := func(construct, format string, args ...any) {
		result.Problems = append(result.Problems, promptfile.Problem{Path: p.Path, Construct: construct, Message: fmt.Sprintf(format, args...), Severity: promptfile.SeverityWarning})
	}
	for i, v := range out.Versions {
		result.Versions = append(result.Versions, VersionImport{p.Versions[i].Written, v})
		if v.Created {
			result.State = ImportUpdated
		}
	}
	for _, l := range out.Kept {
		warn(l.Label, "The label %s names version %d already and stays; import with labels move to move it.", l.Label, l.Version)
	}
	for _, l := range guarded {
		to := out.Versions[l.Index].N
		if im.order.Trial {
			warn(l.Label, "The label %s is protected; the import moves it if you may move it.", l.Label)
			continue
		}
		moved, err := im.MoveLabel(ctx, im.caller, LabelMove{Name: p.Name, Label: l.Label, Version: to, Reason: "import"})
		if err != nil && !blames(err) {
			return err
		}
		if err != nil {
			warn(l.Label, "The label was not moved to version %d: %s", to, penstock.AsError(err).Message)
			continue
		}
		result.Labels = append(result.Labels, moved)
	}
	if p.Archived && out.New && !im.order.Trial {
		if _, err := im.Archive(ctx, im.caller, p.Name); err != nil {
			return err
		}
	}
	switch {
	case out.New:
		result.State = ImportCreated
	case len(result.Labels) > 0 || len(result.Aliases) > 0:
		result.State = ImportUpdated
	}
	im.results[p.Name] = result
	return nil
}
