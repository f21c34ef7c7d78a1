package certificate

import (
	"crypto/x509"
	"errors"
	"net/url"
	"slices"
	"strings"

	"penstock/internal/config"
)

var errSeveral = errors.New("a certificate with a SPIFFE id has one URI SAN")

func isSPIFFE(u *url.URL) bool { return strings.EqualFold(u.Scheme, "spiffe") }

// rules are the mappings of one configuration.
type rules struct {
	of       *config.Snapshot
	spiffe   pattern[*config.CertificateCaller]
	dns      map[string]*config.CertificateCaller
	subjects []*config.CertificateCaller
	serials  map[string]bool
	denied   pattern[bool]
}

// pattern finds the value of a SPIFFE id: its own, or that of the longest prefix of path segments.
type pattern[T any] struct{ exact, below map[string]T }

func (p *pattern[T]) add(id string, value T) {
	into := &p.exact
	if prefix, ok := strings.CutSuffix(id, "/*"); ok {
		id, into = prefix, &p.below
	}
	if *into == nil {
		*into = map[string]T{}
	}
	if _, taken := (*into)[id]; !taken { // the first entry applies
		(*into)[id] = value
	}
}

func (p *pattern[T]) find(id string) (value T, ok bool) {
	if value, ok = p.exact[id]; ok || len(p.below) == 0 {
		return value, ok
	}
	for {
		cut := strings.LastIndexByte(id, '/')
		if cut < len("spiffe://") {
			return value, false
		}
		id = id[:cut]
		if value, ok = p.below[id]; ok {
			return value, true
		}
	}
}

func (p *pattern[T]) covers(id string) bool {
	_, ok := p.find(id)
	return ok
}

// rules returns the mappings of the configuration in force.
func (m *Mapper) rules() *rules {
	current := m.Config.Current()
	if set := m.compiled.Load(); set != nil && set.of == current {
		return set
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	set := compile(current)
	m.compiled.Store(set)
	return set
}

func compile(s *config.Snapshot) *rules {
	set := &rules{of: s, dns: map[string]*config.CertificateCaller{}, serials: map[string]bool{}}
	for i := range s.ClientCertificates.Callers {
		switch c := &s.ClientCertificates.Callers[i]; {
		case c.SPIFFEID != "":
			set.spiffe.add(c.SPIFFEID, c)
		case c.DNSName != "":
			if set.dns[c.DNSName] == nil {
				set.dns[c.DNSName] = c
			}
		default:
			set.subjects = append(set.subjects, c)
		}
	}
	for _, text := range s.ClientCertificates.DeniedSerials {
		serial, _ := config.Serial(text) // it was checked
		set.serials[serial] = true
	}
	for _, id := range s.ClientCertificates.DeniedSPIFFEIDs {
		set.denied.add(id, true)
	}
	return set
}

// maxName bounds the name of a principal, which is stored with each record.
const maxName = 255

// identify finds the mapping of a certificate: by its SPIFFE id, then a DNS name, then its subject. Codes: invalid_key for a
// name that is too long.
func (s *rules) identify(leaf *x509.Certificate, id string) (Identity, error) {
	if caller, ok := s.spiffe.find(id); ok && id != "" {
		return named(id, caller)
	}
	for _, name := range leaf.DNSNames {
		if name = strings.ToLower(name); s.dns[name] != nil {
			return named(dnsPrefix+name, s.dns[name])
		}
	}
	for _, c := range s.subjects {
		if matches(c, leaf) {
			return named(subjectName(leaf.Subject.CommonName, c.Organization), c)
		}
	}
	return Identity{}, nil
}

func named(name string, caller *config.CertificateCaller) (Identity, error) {
	if name = NamePrefix + name; len(name) > maxName || !isPrintable(name) {
		return Identity{}, refused("The name in the client certificate is too long, or has characters that are not printable.")
	}
	return Identity{Name: name, caller: caller}, nil
}

func matches(c *config.CertificateCaller, leaf *x509.Certificate) bool {
	return (c.CommonName == "" || c.CommonName == leaf.Subject.CommonName) &&
		(c.Organization == "" || slices.Contains(leaf.Subject.Organization, c.Organization))
}

const dnsPrefix, commonName, organization = "dns:", "CN=", ",O="

func subjectName(common, org string) string {
	if org == "" {
		return commonName + common
	}
	return commonName + common + organization + org
}

// named finds the mapping of a principal's name, without its prefix; nil for none.
func (s *rules) named(name string) *config.CertificateCaller {
	if dns, ok := strings.CutPrefix(name, dnsPrefix); ok {
		return s.dns[dns]
	}
	if strings.HasPrefix(name, commonName) {
		for _, c := range s.subjects {
			if c.CommonName != "" && subjectName(c.CommonName, c.Organization) == name || c.CommonName == "" && strings.HasSuffix(name, organization+c.Organization) {
				return c
			}
		}
		return nil
	}
	caller, _ := s.spiffe.find(name)
	return caller
}

func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r > 0x7e && r < 0xa0 || r == '\uFFFD' })
}
