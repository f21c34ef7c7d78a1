package penstock

import "strings"

// CutTag divides the written form of a tag, key:value. The form key=value means the same if the text has no colon.
func CutTag(text string) (key, value string, ok bool) {
	if key, value, ok = strings.Cut(text, ":"); ok {
		return key, value, key != ""
	}
	key, value, ok = strings.Cut(text, "=")
	return key, value, ok && key != ""
}

// TagText is the written form of a tag.
func TagText(key, value string) string { return key + ":" + value }

// ReservedTagPrefix begins the keys of tags that Penstock sets itself. Callers cannot use them, so a report by such a tag is
// reliable.
const ReservedTagPrefix = "penstock."

// ReservedTag reports whether callers cannot set a tag.
func ReservedTag(key string) bool { return strings.HasPrefix(key, ReservedTagPrefix) }
