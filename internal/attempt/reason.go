package attempt

import (
	"fmt"
	"slices"
	"strings"

	"penstock/internal/provider"
)

// maxReasonBytes bounds what is kept of why a target was chosen. What was dropped is named by callers.
const maxReasonBytes = 1 << 10

// remarks are remarks on targets that were left out, for the reason of the attempt that was made.
type remarks []string

func (a *remarks) add(format string, args ...any) { *a = append(*a, fmt.Sprintf(format, args...)) }

// explain adds to the reason of a choice the targets that were left out, and remarks on the request.
func explain(reason string, left remarks, request []string) string {
	if len(left) == 0 && len(request) == 0 {
		return reason
	}
	return bounded(strings.Join(slices.Concat([]string{reason}, left, request), "; "))
}

// bounded shortens a reason that is too long.
func bounded(reason string) string {
	if len(reason) > maxReasonBytes {
		return strings.ToValidUTF8(reason[:maxReasonBytes], "") + "…"
	}
	return reason
}

// addReason adds to the reason on the record of a try.
func (t *try) addReason(what string) { t.record.Reason = bounded(t.record.Reason + "; " + what) }

// remark adds the note of the adapter to the reason, such as the key that it used.
func (t *try) remark(meta *provider.Meta, failure *provider.Error) {
	note := meta.Note
	if failure != nil && failure.Note != "" {
		note = failure.Note
	}
	if note != "" {
		t.addReason(note)
	}
}
