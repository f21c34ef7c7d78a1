package api

import (
	"net/http"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/identity"
	"penstock/internal/rest"
)

// callHeaders are the headers of Penstock that a synchronous call may have. A program that also submits batches may send
// x-penstock-window with all of its calls.
var callHeaders = []string{"x-penstock-cache", fallbackParam.Name, promptHeaderParam.Name, promptVariablesParam.Name, subjectParam.Name, tagsParam.Name, targetsParam.Name, timeoutParam.Name, headerWindow}

// personHeaders are the headers of people's calls, in canonical form.
var personHeaders = []string{rest.HeaderTenant, http.CanonicalHeaderKey(identity.HeaderCSRF)}

// checkHeaders refuses an unknown header whose name begins as the names of Penstock's headers do. Without the check, a misspelled
// header has no effect: a call whose tag is lost counts against no budget of that tag. Codes: invalid_request.
func checkHeaders(h http.Header, by penstock.PrincipalKind) error {
	for name := range h {
		plain := strings.TrimPrefix(name, "X-")
		if !strings.HasPrefix(plain, "Penstock-") || slices.Contains([]string{"Penstock-Version", "Penstock-Challenge"}, name) {
			continue
		}
		if by == penstock.PrincipalPerson && slices.Contains(personHeaders, name) {
			continue
		}
		name = strings.ToLower(name)
		if slices.Contains(callHeaders, name) {
			continue
		}
		name = rest.Clip(name)
		if hint := config.Suggest(name, callHeaders); hint != "" {
			return penstock.InvalidParam(name, "Unknown header %q%s", name, hint)
		}
		return penstock.InvalidParam(name, "Unknown header %q; the headers of Penstock are %s.", name, strings.Join(callHeaders, ", "))
	}
	return nil
}
