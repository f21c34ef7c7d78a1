package prompt

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"penstock"
	"penstock/internal/prompt/content"
)

// Bounds of aliases.
const (
	MaxAliases           = 16 // of a prompt
	MaxAliasBytes        = 128
	MaxAliasVersionBytes = 64
)

// Alias is an id of another registry under which a prompt is known, such as an id of OpenAI's hosted prompts. It never names
// another prompt.
type Alias struct {
	Alias string
	// Versions are the versions that the numbers of the other registry mean. If there are none, its numbers are those of the prompt.
	Versions map[string]int64
}

// CheckAlias refuses a text that cannot be an alias. Codes: invalid_request.
func CheckAlias(alias string) error {
	if alias == "" || len(alias) > MaxAliasBytes || strings.ContainsFunc(alias, func(r rune) bool { return !aliasRune(r) }) {
		return penstock.InvalidParam("id", "%q cannot be the id of a prompt: ids have a-z, A-Z, 0-9, . _ and -, and at most %d bytes.", clip(alias), MaxAliasBytes)
	}
	return nil
}

func aliasRune(r rune) bool {
	return r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// NoPrompt is the error for an id that names no prompt.
func NoPrompt(id string) *penstock.Error {
	return penstock.Errorf(penstock.CodeNotFound, "There is no prompt with the id %s.", clip(id))
}

// NameOf finds the name of the prompt with an id: its own, or an alias. Codes: not_found.
func (s *Service) NameOf(ctx context.Context, tenant penstock.TenantID, id string) (string, error) {
	return s.Resolver.NameOf(ctx, tenant, id)
}

// NameOf finds the name of the prompt with an id: its own, or an alias. Names never change, so they are cached for ever, within a
// bound. Codes: not_found.
func (r *Resolver) NameOf(ctx context.Context, tenant penstock.TenantID, id string) (string, error) {
	key := promptKey{tenant, id}
	if name, ok := r.names.get(key); ok {
		return name, nil
	}
	name, err := r.Store.NameOf(ctx, tenant, id)
	if err != nil {
		return "", err
	}
	r.names.put(key, name, 1)
	return name, nil
}

// Identify makes a reference of an id and a version, as OpenAI's API writes them. The id is that of a prompt, or an alias. The
// version is a number, "" for [content.LabelDefault]; for an alias it is a number of the other registry. A label is accepted too.
// Codes: not_found, invalid_request.
func (r *Resolver) Identify(ctx context.Context, tenant penstock.TenantID, id, version string) (ref content.Reference, err error) {
	if ref.Name, err = r.NameOf(ctx, tenant, id); err != nil || version == "" {
		return ref, err
	}
	head, err := r.head(ctx, promptKey{tenant, ref.Name})
	if err != nil {
		return ref, err
	}
	theirs := head.Aliases[id]
	if n, known := theirs[version]; known {
		ref.Version = n
		return ref, nil
	}
	if err := ref.Select(version); err != nil {
		return ref, err
	}
	if ref.Version > 0 && len(theirs) > 0 {
		return ref, penstock.Errorf(penstock.CodeNotFound, "Version %s of %s was not imported; the imported versions are %s. Newer versions have the name %s and their own numbers.",
			clip(version), clip(id), strings.Join(sortedVersions(theirs), ", "), ref.Name)
	}
	return ref, nil
}

// sortedVersions are the versions of an alias in the order of their numbers, at most some of them.
func sortedVersions(all map[string]int64) []string {
	const most = 20
	words := slices.SortedFunc(maps.Keys(all), func(x, y string) int {
		left, _ := strconv.ParseInt(x, 10, 64)
		right, _ := strconv.ParseInt(y, 10, 64)
		if left != right {
			return int(min(max(left-right, -1), 1))
		}
		return strings.Compare(x, y)
	})
	return words[:min(len(words), most)]
}
