// Package sign makes links that open one object without a key, until they expire.
//
// It owns the form of a link and its check. It does not own objects, and does not decide who may request a link. A link
// names a tenant, an object and its expiry, under an HMAC-SHA256 whose key is derived from the keyset for this use
// alone. Links that were signed with an earlier primary key still work. There is no list of links: a link can be
// revoked only by removing its object, so lifetimes should be short.
//
// A Signer never changes and is safe for concurrent use.
package sign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"strconv"
	"time"

	"penstock"
	"penstock/internal/payload"
)

// Path is what the path of every link begins with.
const Path = "/v1/download/"

const (
	derivationLabel = "penstock link v1"
	keyIDBytes      = 4
)

// Grant is what a link lets its holder read.
type Grant struct {
	Tenant  penstock.TenantID
	Object  string // as callers see it, such as file_01…
	Expires time.Time
}

// Signer makes and checks links.
type Signer struct {
	primary uint32
	keys    map[uint32][]byte
}

// New returns a signer whose keys come from a keyset.
func New(keys *payload.Keyset) (*Signer, error) {
	derived, err := keys.Derive(derivationLabel)
	if err != nil {
		return nil, err
	}
	return &Signer{primary: keys.PrimaryID(), keys: derived}, nil
}

// Link returns the path and query of a link.
func (s *Signer) Link(g Grant) string {
	sum := binary.BigEndian.AppendUint32(nil, s.primary)
	sum = append(sum, mac(s.keys[s.primary], g)...)
	query := url.Values{
		"expires": {strconv.FormatInt(g.Expires.Unix(), 10)},
		"sig":     {base64.RawURLEncoding.EncodeToString(sum)},
	}
	return Path + url.PathEscape(string(g.Tenant)) + "/" + url.PathEscape(g.Object) + "?" + query.Encode()
}

// Check returns what a link grants, given what its path names. Codes: not_found (it was not signed here), gone
// (it has ended).
func (s *Signer) Check(g Grant, query url.Values, now time.Time) (Grant, error) {
	forged := penstock.Errorf(penstock.CodeNotFound, "The link is not valid; ask for a new link.")
	text := query.Get("expires")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != text { // a link has one form
		return Grant{}, forged
	}
	g.Expires = time.Unix(seconds, 0).UTC()
	sum, err := base64.RawURLEncoding.Strict().DecodeString(query.Get("sig"))
	if err != nil || len(sum) != keyIDBytes+sha256.Size {
		return Grant{}, forged
	}
	key, ok := s.keys[binary.BigEndian.Uint32(sum)]
	if !ok || !hmac.Equal(sum[keyIDBytes:], mac(key, g)) {
		return Grant{}, forged
	}
	if !now.Before(g.Expires) {
		return Grant{}, penstock.Errorf(penstock.CodeGone, "The link expired at %s; ask for a new link.", g.Expires.Format(time.RFC3339))
	}
	return g, nil
}

// mac covers all of a grant, each field with its length in front, so that no two grants are written alike.
func mac(key []byte, g Grant) []byte {
	var text []byte
	for _, field := range []string{string(g.Tenant), g.Object} {
		text = binary.AppendUvarint(text, uint64(len(field)))
		text = append(text, field...)
	}
	text = binary.BigEndian.AppendUint64(text, uint64(g.Expires.Unix()))
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}
