package certificate

import (
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/identity/certificate/certtest"
)

type tenantTable map[penstock.TenantID]bool

func (t tenantTable) Tenant(id penstock.TenantID) (penstock.Tenant, bool) {
	return penstock.Tenant{ID: id}, t[id]
}

var someTLS = config.TLS{CertFile: "c", KeyFile: "k", ClientCAFile: "ca"}

func snapshot(t *testing.T, cc config.ClientCertificates) *config.Snapshot {
	t.Helper()
	s, err := config.NewSnapshot(config.File{Process: config.Process{TLS: someTLS, Admin: config.Admin{TLS: someTLS}}, ClientCertificates: cc})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newMapper(t *testing.T, cc config.ClientCertificates) (*Mapper, *config.Live, tenantTable) {
	t.Helper()
	live, tenants := config.NewLive(snapshot(t, cc)), tenantTable{"exact": true, "prefix": true, "longer": true, "domain": true, "dns": true, "both": true, "cn": true, "org": true}
	return New(Deps{Config: live, Tenants: tenants, Clock: time.Now}), live, tenants
}

var testCallers = []config.CertificateCaller{
	{SPIFFEID: "spiffe://prod.example.com/ns/search/*", Tenant: "prefix"},
	{SPIFFEID: "spiffe://prod.example.com/ns/search/sa/api", Tenant: "exact", Scopes: []penstock.Scope{penstock.ScopeInference}, Limits: config.RateLimits{Concurrency: 4}},
	{SPIFFEID: "spiffe://prod.example.com/ns/search/sa/*", Tenant: "longer"},
	{SPIFFEID: "spiffe://dev.example.com/*", Tenant: "domain"},
	{DNSName: "api.search.internal", Tenant: "dns"},
	{CommonName: "worker", Organization: "Search", Tenant: "both"},
	{CommonName: "worker", Tenant: "cn"},
	{Organization: "Ops", Tenant: "org", Limits: config.RateLimits{Concurrency: 5}},
	{SPIFFEID: "spiffe://prod.example.com/ops/deploy", Roles: []penstock.Role{penstock.RoleOperator}},
}

// Each certificate finds its mapping, and its principal has a name of its own.
func TestMapping(t *testing.T) {
	t.Parallel()
	m, _, _ := newMapper(t, config.ClientCertificates{Callers: testCallers})
	ca := certtest.New(t, "ca")
	uri := func(id string) certtest.Leaf { return certtest.Leaf{URIs: []string{id}} }
	for _, c := range []struct {
		leaf   certtest.Leaf
		tenant penstock.TenantID
		name   string
	}{
		{uri("spiffe://prod.example.com/ns/search/sa/api"), "exact", "cert:spiffe://prod.example.com/ns/search/sa/api"},
		{uri("spiffe://prod.example.com/ns/search/sa/web"), "longer", "cert:spiffe://prod.example.com/ns/search/sa/web"},
		{uri("spiffe://prod.example.com/ns/search/job"), "prefix", "cert:spiffe://prod.example.com/ns/search/job"},
		{uri("spiffe://prod.example.com/ns/search"), "", ""},        // the prefix itself is not below it
		{uri("spiffe://prod.example.com/ns/search-evil/x"), "", ""}, // a prefix has whole segments
		{uri("spiffe://dev.example.com/x/y"), "domain", "cert:spiffe://dev.example.com/x/y"},
		{uri("spiffe://dev.example.com.evil.org/x"), "", ""},
		{uri("https://prod.example.com/ns/search/sa/api"), "", ""},
		{certtest.Leaf{DNSNames: []string{"x.internal", "API.search.internal"}}, "dns", "cert:dns:api.search.internal"},
		{certtest.Leaf{CommonName: "api.search.internal"}, "", ""}, // a common name is no DNS name
		{certtest.Leaf{CommonName: "worker", Organization: []string{"Other", "Search"}}, "both", "cert:CN=worker,O=Search"},
		{certtest.Leaf{CommonName: "worker"}, "cn", "cert:CN=worker"},
		{certtest.Leaf{CommonName: "w-17", Organization: []string{"Ops"}}, "org", "cert:CN=w-17,O=Ops"},
		{certtest.Leaf{CommonName: "nobody"}, "", ""},
		{certtest.Leaf{URIs: []string{"spiffe://none.example.com/x"}, CommonName: "worker"}, "cn", "cert:CN=worker"},
	} {
		id, err := m.Identify(ca.Client(c.leaf).Leaf)
		if err != nil || id.Tenant() != c.tenant || id.Name != c.name {
			t.Errorf("%+v: %q %q, %v; want %q %q", c.leaf, id.Tenant(), id.Name, err, c.tenant, c.name)
			continue
		}
		p, err := m.Caller(id)
		if c.tenant == "" {
			if penstock.ErrorCode(err) != penstock.CodeInvalidKey {
				t.Errorf("%+v: %v", c.leaf, err)
			}
		} else if err != nil || p.Key != c.name || p.Tenant.ID != c.tenant || p.Kind != penstock.PrincipalKey || len(p.Scopes) == 0 || p.May(penstock.ScopeAdmin) {
			t.Errorf("%+v: %+v, %v", c.leaf, p, err)
		}
		if _, err := m.Operator(id); penstock.ErrorCode(err) != penstock.CodeInvalidKey {
			t.Errorf("%+v is an operator: %v", c.leaf, err)
		}
	}
	for name, want := range map[string]int{"cert:spiffe://prod.example.com/ns/search/sa/api": 4, "cert:CN=w-17,O=Ops": 5, "cert:CN=worker": 0, "cert:dns:gone": 0} {
		if l, ok := m.Limits(name); !ok || l.Concurrency != want {
			t.Errorf("limits of %s: %+v", name, l)
		}
	}
	if _, ok := m.Limits("worker"); ok {
		t.Error("a key has limits of a certificate")
	}
}

// Roles belong to the admin listener, and tenants to the public listener.
func TestOperatorCertificates(t *testing.T) {
	t.Parallel()
	m, _, _ := newMapper(t, config.ClientCertificates{Callers: testCallers})
	id, err := m.Identify(certtest.New(t, "ca").Client(certtest.Leaf{URIs: []string{"spiffe://prod.example.com/ops/deploy"}}).Leaf)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Operator(id)
	if err != nil || p.Kind != penstock.PrincipalOperator || !p.Has(penstock.RoleOperator) || p.Has(penstock.RoleAuditor) || p.Key != "cert:spiffe://prod.example.com/ops/deploy" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := m.Caller(id); penstock.ErrorCode(err) != penstock.CodeInvalidKey {
		t.Errorf("it calls the public API: %+v, %v", p, err)
	}
}

// Denied, ended and malformed certificates are refused, whatever mapping they have.
func TestDeniedCertificates(t *testing.T) {
	t.Parallel()
	m, live, tenants := newMapper(t, config.ClientCertificates{Callers: testCallers, DeniedSerials: []string{"0A:BC"},
		DeniedSPIFFEIDs: []string{"spiffe://prod.example.com/ns/search/sa/web", "spiffe://dev.example.com/bad/*"}})
	ca := certtest.New(t, "ca")
	good := ca.Client(certtest.Leaf{URIs: []string{"spiffe://prod.example.com/ns/search/sa/api"}}).Leaf
	for name, c := range map[string]struct {
		leaf certtest.Leaf
		ok   bool
	}{
		"serial":           {certtest.Leaf{Serial: 0xabc, CommonName: "worker"}, false},
		"another serial":   {certtest.Leaf{Serial: 0xabd, CommonName: "worker"}, true},
		"SPIFFE id":        {certtest.Leaf{URIs: []string{"spiffe://prod.example.com/ns/search/sa/web"}}, false},
		"prefix":           {certtest.Leaf{URIs: []string{"spiffe://dev.example.com/bad/x"}}, false},
		"not the prefix":   {certtest.Leaf{URIs: []string{"spiffe://dev.example.com/badly/x"}}, true},
		"two ids":          {certtest.Leaf{URIs: []string{"spiffe://dev.example.com/a", "spiffe://dev.example.com/b"}}, false},
		"id and URL":       {certtest.Leaf{URIs: []string{"spiffe://dev.example.com/a", "https://x"}}, false},
		"id with dots":     {certtest.Leaf{URIs: []string{"spiffe://dev.example.com/ok/../bad/x"}}, false},
		"id with a query":  {certtest.Leaf{URIs: []string{"spiffe://dev.example.com/a?b=c"}}, false},
		"id with a port":   {certtest.Leaf{URIs: []string{"spiffe://dev.example.com:80/a"}}, false},
		"ended":            {certtest.Leaf{CommonName: "worker", NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)}, false},
		"name with a line": {certtest.Leaf{CommonName: "a\nb", Organization: []string{"Ops"}}, false},
		"long name":        {certtest.Leaf{URIs: []string{"spiffe://dev.example.com/" + strings.Repeat("a", maxName)}}, false},
	} {
		_, err := m.Identify(ca.Client(c.leaf).Leaf)
		if (err == nil) != c.ok || err != nil && penstock.ErrorCode(err) != penstock.CodeInvalidKey {
			t.Errorf("%s: %v", name, err)
		}
	}

	refuse := m.Watch(good, time.Hour)
	if err := refuse(); err != nil {
		t.Error(err)
	}
	tenants["exact"] = false
	if refuse() == nil {
		t.Error("an open call outlives its tenant")
	}
	tenants["exact"] = true
	live.Swap(snapshot(t, config.ClientCertificates{Callers: testCallers, DeniedSPIFFEIDs: []string{"spiffe://prod.example.com/*"}}))
	if _, err := m.Identify(good); err == nil || refuse() == nil {
		t.Error("a reload denies it, but it still works")
	}
	live.Swap(snapshot(t, config.ClientCertificates{Callers: testCallers[:1]}))
	if refuse() == nil {
		t.Error("an open call outlives its mapping")
	}
}

// A mapping binds the keys that come with its certificate.
func TestBind(t *testing.T) {
	t.Parallel()
	m, _, _ := newMapper(t, config.ClientCertificates{Callers: testCallers})
	ca := certtest.New(t, "ca")
	mapped, _ := m.Identify(ca.Client(certtest.Leaf{CommonName: "worker"}).Leaf)
	plain, _ := m.Identify(ca.Client(certtest.Leaf{CommonName: "nobody"}).Leaf)
	own, foreign := &penstock.Principal{Tenant: penstock.Tenant{ID: "cn"}}, &penstock.Principal{Tenant: penstock.Tenant{ID: "other"}}
	if mapped.Bind(own) != nil || plain.Bind(foreign) != nil || penstock.ErrorCode(mapped.Bind(foreign)) != penstock.CodeInvalidKey {
		t.Error(mapped.Bind(own), plain.Bind(foreign), mapped.Bind(foreign))
	}
	if Leaf(nil) != nil {
		t.Error("plain HTTP has a certificate")
	}
}
