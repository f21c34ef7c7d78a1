package config

import (
	"math/big"
	"slices"
	"strings"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"penstock"
)

// ClientCertificates map the certificates of services (mTLS) to tenants and roles. They need tls.client_ca_file, and
// admin.tls.client_ca_file for roles. Short-lived certificates are expected: Penstock reads no revocation list.
type ClientCertificates struct {
	// Callers are the services that may call with their certificate alone. A certificate is compared with exact SPIFFE
	// ids, then with the longest prefix, then with DNS names, then with subjects; among equals the first entry applies.
	// Zero: none. At most 10000.
	Callers []CertificateCaller `yaml:"callers,omitempty"`

	// DeniedSerials are the serial numbers of certificates that are refused, in hexadecimal, with or without colons. Zero:
	// none. At most 10000.
	DeniedSerials []string `yaml:"denied_serials,omitempty"`

	// DeniedSPIFFEIDs are SPIFFE ids that are refused, or prefixes that end with /*. Zero: none. At most 10000.
	DeniedSPIFFEIDs []string `yaml:"denied_spiffe_ids,omitempty"`
}

// CertificateCaller is a service that a certificate identifies. It has one of spiffe_id, dns_name, and a subject
// (common_name, organization or both).
type CertificateCaller struct {
	// SPIFFEID is the SPIFFE id in the certificate (URI SAN), such as spiffe://prod.example.com/ns/search/sa/api. With /*
	// at its end, it is a prefix of whole path segments: spiffe://prod.example.com/ns/search/*. Zero: another field
	// identifies the service.
	SPIFFEID string `yaml:"spiffe_id,omitempty"`

	// DNSName is a DNS name in the certificate (DNS SAN), in lower case. Zero: as above.
	DNSName string `yaml:"dns_name,omitempty"`

	// CommonName is the common name of the certificate's subject. Zero: any.
	CommonName string `yaml:"common_name,omitempty"`

	// Organization is an organization of the certificate's subject. Zero: any.
	Organization string `yaml:"organization,omitempty"`

	// Tenant is the tenant of the service, on Listen. Required, unless Roles are set.
	Tenant string `yaml:"tenant,omitempty"`

	// Scopes are some of inference, jobs:write, jobs:read and webhooks. Zero: the default, all of these; none without
	// Tenant.
	Scopes []penstock.Scope `yaml:"scopes,omitempty"`

	// Roles are the roles of the service on AdminListen: some of viewer, developer, reviewer, operator, auditor and admin.
	// They have no effect on Listen. Zero: none.
	Roles []penstock.Role `yaml:"roles,omitempty"`

	// Limits are the limits of each certificate's identity by itself, in addition to those of its tenant.
	Limits RateLimits `yaml:"limits,omitempty"`
}

// The modes of client certificates.
const (
	ClientAuthOptional = "optional"
	ClientAuthRequired = "required"
)

// RateLimits are those of each identity, as the rest of Penstock knows them.
func (r *CertificateCaller) RateLimits() penstock.Limits { return r.Limits.limits() }

// Serial is the canonical form of a serial number in hexadecimal; ok is false for another text.
func Serial(text string) (serial string, ok bool) {
	text = strings.ReplaceAll(text, ":", "")
	n, ok := new(big.Int).SetString(text, 16)
	if !ok || n.Sign() < 0 || len(text) > maxSerialDigits {
		return "", false
	}
	return n.Text(16), true
}

const (
	maxSerialDigits = 64
	maxSubject      = 128
	// spiffePrefix ends a SPIFFE id that stands for all below it.
	spiffePrefix = "/*"
)

func (cc *ClientCertificates) fillDefaults(written places) {
	for i := range cc.Callers {
		r, at := &cc.Callers[i], path("client_certificates.callers").index(i)
		if r.Tenant != "" {
			r.Scopes = fillList(written, at+".scopes", r.Scopes, penstock.Scopes)
		}
		r.Limits.fillDefaults(written, at+".limits")
	}
}

// clone copies what fillDefaults and normalize change.
func (cc ClientCertificates) clone() ClientCertificates {
	cc.Callers = slices.Clone(cc.Callers)
	for i := range cc.Callers {
		cc.Callers[i].Scopes, cc.Callers[i].Roles = slices.Clone(cc.Callers[i].Scopes), slices.Clone(cc.Callers[i].Roles)
	}
	return cc
}

func (c *checker) clientCertificates(f *File) {
	cc, at := f.ClientCertificates, path("client_certificates")
	c.atMost(at+".callers", len(cc.Callers), maxMappings)
	c.atMost(at+".denied_serials", len(cc.DeniedSerials), maxMappings)
	c.atMost(at+".denied_spiffe_ids", len(cc.DeniedSPIFFEIDs), maxMappings)
	for i := range cc.Callers {
		c.certificateCaller((at + ".callers").index(i), &cc.Callers[i], f)
	}
	for i, serial := range cc.DeniedSerials {
		if _, ok := Serial(serial); !ok {
			c.fail((at + ".denied_serials").index(i), `must be a serial number in hexadecimal, such as "0a:1b:2c"`)
		}
	}
	for i, id := range cc.DeniedSPIFFEIDs {
		c.spiffeID((at + ".denied_spiffe_ids").index(i), id)
	}
}

func (c *checker) certificateCaller(at path, r *CertificateCaller, f *File) {
	ways := 0
	for _, given := range []bool{r.SPIFFEID != "", r.DNSName != "", r.CommonName != "" || r.Organization != ""} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		c.fail(at, "must identify the certificate by one of spiffe_id, dns_name, or common_name and organization")
	}
	if r.SPIFFEID != "" {
		c.spiffeID(at+".spiffe_id", r.SPIFFEID)
	}
	if r.DNSName != "" && !hostName.MatchString(r.DNSName) {
		c.fail(at+".dns_name", "must be a host name in lower case, without a wildcard")
	}
	c.subject(at+".common_name", r.CommonName)
	c.subject(at+".organization", r.Organization)
	if r.Tenant == "" && len(r.Roles) == 0 {
		c.fail(at+".tenant", "is required, or roles for an operator")
	}
	if r.Tenant != "" {
		c.name(at+".tenant", r.Tenant)
		listOf(c, at+".scopes", r.Scopes, penstock.Scopes)
		if f.TLS.ClientCAFile == "" {
			c.fail(at+".tenant", "has no effect without tls.client_ca_file: add that file")
		}
	} else if len(r.Scopes) > 0 {
		c.fail(at+".scopes", "need a tenant")
	}
	if len(r.Roles) > 0 {
		listOf(c, at+".roles", r.Roles, penstock.Roles)
		if f.Admin.TLS.ClientCAFile == "" {
			c.fail(at+".roles", "have no effect without admin.tls.client_ca_file: add that file")
		}
	}
	c.rateLimits(at+".limits", r.Limits)
}

func (c *checker) spiffeID(at path, id string) {
	exact, isPrefix := strings.CutSuffix(id, spiffePrefix)
	if _, err := spiffeid.FromString(exact); err != nil || !isPrefix && strings.Contains(id, "*") {
		c.fail(at, `must be a SPIFFE id such as spiffe://prod.example.com/ns/search/sa/api, or a prefix that ends with "/*"`)
	}
}

func (c *checker) subject(at path, text string) {
	if len(text) > maxSubject || !isPrintable(text) {
		c.fail(at, "must be printable text of at most %d bytes", maxSubject)
	}
}
