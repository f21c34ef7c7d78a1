package prompt

import (
	"maps"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/prompt/content"
)

// NotFound is the error for a prompt that does not exist or belongs to another tenant.
func NotFound(name string) *penstock.Error {
	return penstock.Errorf(penstock.CodeNotFound, "There is no prompt %s.", clip(name))
}

// NoVersion is the error for a version that does not exist.
func NoVersion(k VersionKey, latest int64) *penstock.Error {
	if latest == 0 {
		return penstock.Errorf(penstock.CodeNotFound, "The prompt %s has no version %d: it has no versions yet.", clip(k.Name), k.N)
	}
	return penstock.Errorf(penstock.CodeNotFound, "The prompt %s has no version %d; the newest is %d.", clip(k.Name), k.N, latest)
}

// Deleted is the error for a version whose content was removed.
func Deleted(k VersionKey) *penstock.Error {
	return penstock.Errorf(penstock.CodeGone, "Version %d of the prompt %s was deleted.", k.N, clip(k.Name))
}

// DraftTooLarge is the error for a draft that has too many bytes.
func DraftTooLarge(bytes int64) *penstock.Error {
	return penstock.Errorf(penstock.CodeTooLarge, "The draft has %d bytes; %d are the most.", bytes, MaxDraftBytes)
}

// noLabel is the error for a label that names no version.
func noLabel(name, label string, h *Head) error {
	names := slices.Sorted(maps.Keys(h.Labels))
	if h.Latest > 0 {
		names = append(names, content.LabelLatest)
	}
	if len(names) == 0 {
		return penstock.Errorf(penstock.CodeNotFound, "The prompt %s has no label %s, because it has no versions yet.", clip(name), clip(label))
	}
	return penstock.Errorf(penstock.CodeNotFound, "The prompt %s has no label %s; its labels are %s.", clip(name), clip(label), strings.Join(names, ", "))
}

// clip shortens a text of the caller before it is quoted in an error.
func clip(text string) string {
	const most = 64
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
