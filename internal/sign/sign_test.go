package sign

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/payload"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func newSigner(t *testing.T, path string) *Signer {
	t.Helper()
	keys, err := payload.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func follow(t *testing.T, s *Signer, link string, now time.Time) (Grant, error) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.TrimPrefix(u.Path, Path), "/")
	if len(parts) != 2 {
		t.Fatalf("%s names %d things", link, len(parts))
	}
	return s.Check(Grant{Tenant: penstock.TenantID(parts[0]), Object: parts[1]}, u.Query(), now)
}

func TestLink(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	s := newSigner(t, path)
	want := Grant{Tenant: "acme", Object: "file_1", Expires: noon}
	link := s.Link(want)
	if got, err := follow(t, s, link, noon.Add(-time.Second)); err != nil || got != want {
		t.Errorf("%s grants %+v, %v", link, got, err)
	}
	for _, late := range []time.Time{noon, noon.Add(time.Hour)} {
		if _, err := follow(t, s, link, late); penstock.ErrorCode(err) != penstock.CodeGone {
			t.Errorf("at %s: %v, want gone", late, err)
		}
	}
	if _, err := payload.Rotate(path); err != nil {
		t.Fatal(err)
	}
	if _, err := follow(t, newSigner(t, path), link, noon.Add(-time.Second)); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
	other := newSigner(t, filepath.Join(t.TempDir(), "keyset.json"))
	if _, err := follow(t, other, link, noon.Add(-time.Second)); penstock.ErrorCode(err) != penstock.CodeNotFound {
		t.Errorf("under another keyset: %v", err)
	}
}

// TestForgedLinks changes every part of a link, and every bit of its signature.
func TestForgedLinks(t *testing.T) {
	t.Parallel()
	s := newSigner(t, filepath.Join(t.TempDir(), "keyset.json"))
	link := s.Link(Grant{Tenant: "acme", Object: "file_1", Expires: noon})
	forgeries := []string{
		strings.Replace(link, "acme", "umbra", 1), strings.Replace(link, "file_1", "file_2", 1),
		strings.Replace(link, "acme/file_1", "acmef/ile_1", 1), strings.Replace(link, "expires=1", "expires=2", 1),
		strings.Replace(link, "expires=", "expires=x", 1), strings.Replace(link, "sig=", "sin=", 1), link + "A", link + "=",
	}
	at := strings.Index(link, "sig=") + len("sig=")
	for i := at; i < len(link); i++ {
		c := "A"
		if link[i] == 'A' {
			c = "B"
		}
		forgeries = append(forgeries, link[:i]+c+link[i+1:])
	}
	for _, forged := range forgeries {
		if _, err := follow(t, s, forged, noon.Add(-time.Second)); penstock.ErrorCode(err) != penstock.CodeNotFound {
			t.Errorf("%s: %v, want not_found", forged, err)
		}
	}
}
