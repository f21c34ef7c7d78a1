package rest

import (
	"net/http"
	"strconv"
	"strings"

	"penstock"
)

// ETag names a version of an object.
func ETag(version int64) string { return `"v` + strconv.FormatInt(version, 10) + `"` }

// IfMatch reads the version that an object must have for a change to be made, 0 for any. Codes: invalid_request.
func IfMatch(r *http.Request) (int64, error) {
	tag := r.Header.Get("If-Match")
	if tag == "" || tag == "*" {
		return 0, nil
	}
	text, ok := strings.CutPrefix(strings.Trim(tag, `"`), "v")
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !ok || version < 1 {
		return 0, penstock.InvalidParam("If-Match", `If-Match must be an ETag of this API, such as "v12".`)
	}
	return version, nil
}

// IfAbsent reads whether an object must not exist yet for a change to be made: If-None-Match: *. Codes: invalid_request.
func IfAbsent(r *http.Request) (bool, error) {
	switch tag := r.Header.Get("If-None-Match"); tag {
	case "":
		return false, nil
	case "*":
		return true, nil
	default:
		return false, penstock.InvalidParam("If-None-Match", "If-None-Match of a change must be *, which means that the object must not exist yet; not %q.", tag)
	}
}
