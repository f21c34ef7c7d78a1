package token

import (
	"context"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"penstock"
)

// The messages about refused tokens. They name the fix and nothing of the token.
const (
	refusedForm     = "This token is not a signed JWT with an algorithm that this server accepts (RS, PS, ES or EdDSA)."
	refusedIssuer   = "This server does not accept tokens of this issuer; ask the operator to add it to client_tokens."
	refusedAudience = "This token was issued for another audience; ask its issuer for a token for this server."
	refusedExpired  = "This token has expired; fetch a new token."
	refusedEarly    = "This token is not valid yet; check the clock of its issuer (claims nbf and iat)."
	refusedTimeless = "This token has no expiry; its issuer must set the claim exp."
	refusedSigned   = "The signature of this token is wrong, or its issuer has withdrawn the key that signed it."
	refusedSubject  = "This token needs a subject (claim sub) of at most 200 visible ASCII characters."
	refusedTenant   = "This token names no tenant of this server, or several; ask the operator to add its tenant to client_tokens."
)

func refused(message string, why error) error {
	return &penstock.Error{Code: penstock.CodeInvalidKey, Message: message, Err: why}
}

// verify checks a token. The checks of its claims come before that of its signature, because they cost less; a token
// needs all of them.
func (v *Verifier) verify(ctx context.Context, set *issuers, raw string) (*entry, error) {
	if len(set.algorithms) == 0 {
		return nil, refused(refusedIssuer, nil)
	}
	parsed, err := jwt.ParseSigned(raw, set.algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return nil, refused(refusedForm, err)
	}
	var std jwt.Claims
	var all claims
	if err := parsed.UnsafeClaimsWithoutVerification(&std, &all); err != nil {
		return nil, refused(refusedForm, err)
	}
	i := set.byURL[std.Issuer]
	if i == nil {
		return nil, refused(refusedIssuer, nil)
	}
	now := v.Clock()
	if err := i.check(&std, now); err != nil {
		return nil, err
	}
	e, err := i.describe(&std, all)
	if err != nil {
		return nil, err
	}
	header := parsed.Headers[0]
	if !i.accepts(header.Algorithm) {
		return nil, refused(refusedForm, nil)
	}
	key, generation, err := i.keys.find(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return nil, err
	}
	if err := parsed.Claims(key); err != nil {
		return nil, refused(refusedSigned, err)
	}
	e.of, e.keys, e.generation = set, i.keys, generation
	return e, nil
}

// check checks audience and times.
func (i *issuer) check(std *jwt.Claims, now time.Time) error {
	if std.Expiry == nil {
		return refused(refusedTimeless, nil)
	}
	err := std.ValidateWithLeeway(jwt.Expected{Issuer: i.Issuer, AnyAudience: i.Audiences, Time: now}, i.Skew)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrInvalidAudience):
		return refused(refusedAudience, err)
	case errors.Is(err, jwt.ErrExpired):
		return refused(refusedExpired, err)
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return refused(refusedEarly, err)
	}
	return refused(refusedForm, err)
}
