package rest

import (
	"net/http"

	"penstock"
)

// Credential finds the principals of calls that carry one kind of credential, such as a session cookie, a signed token or a
// client certificate.
type Credential interface {
	// Principal returns the principal of a call. present is false if the call carries no credential of this kind: then the
	// next kind is asked. bearer is the key or token that the call presents, "" for none. Codes: invalid_key,
	// rate_limited, scope_missing, not_found, overloaded.
	Principal(r *http.Request, bearer string) (p penstock.Principal, present bool, err error)
}

// Credentials are the kinds of credentials that a listener accepts beside keys, in the order in which they are asked. A call
// that carries several is the call of the first of them. Keys come last, because any text may be a key.
//
// A kind that is not in a call must cost next to nothing: every call with a key asks all kinds.
type Credentials []Credential

// Principal implements [Credential] for all kinds together.
func (all Credentials) Principal(r *http.Request, bearer string) (p penstock.Principal, present bool, err error) {
	for _, kind := range all {
		if p, present, err = kind.Principal(r, bearer); present {
			return p, true, err
		}
	}
	return penstock.Principal{}, false, nil
}
