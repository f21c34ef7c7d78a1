package dial

import (
	"net/url"
	"strings"
	"testing"
)

func TestHostOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://cdn.example.com/a.png": "cdn.example.com", "HTTP://CDN.Example.COM.:8080?x": "cdn.example.com", "https://a#b": "a", "http://xn--bcher-kva.example/": "xn--bcher-kva.example",
		"http://10.1.2.3:80/": "10.1.2.3", "http://[::ffff:10.1.2.3]/": "10.1.2.3", "http://[2606:4700::1]:443/": "2606:4700::1", "http://[::1]/": "::1", "http://[64:ff9b::a9fe:a9fe]/": "169.254.169.254",
		"http://a/@b": "a", "http://a?@b": "a", "http://under_score.example": "under_score.example",
	} {
		if h, err := HostOf(url); err != nil || h.String() != want {
			t.Errorf("%s: %v %v, want %s", url, h, err, want)
		}
	}
	for _, url := range []string{
		"", "cdn.example.com", "//cdn.example.com", "http:/x", "http:///x", "http:x", "ftp://x", "file:///etc/passwd", "data:x", "javascript:alert(1)", " http://x", "http://x y/", "http://x\t/", "http://x\n",
		`http://good.example\@evil.example`, `http:\\evil.example`, "http://user@evil.example", "http://user:p@evil.example", "http://good.example:80@evil.example", "http://2130706433", "http://0x7f000001",
		"http://0177.0.0.1", "http://127.1", "http://127.0.1", "http://0x7f.1", "http://1.2.3.4.5", "http://①②⑦.⓪.⓪.①", "http://example。com", "http://ｅxample.com", "http://ex%61mple.com",
		"http://a..b", "http://.a", "http://a:b", "http://a:99999999", "http://a:", "http://[::1", "http://[::1]x", "http://[fe80::1%25eth0]/", "http://[127.0.0.1]", "http://" + strings.Repeat("a", 64) + ".com",
	} {
		if h, err := HostOf(url); err == nil {
			t.Errorf("%q is taken for %v", url, h)
		}
	}
}

func TestPublicHosts(t *testing.T) {
	t.Parallel()
	for host, public := range map[string]bool{
		"example.com": true, "93.184.216.34": true, "2606:4700::1": true, "localhost": false, "redis": false, "vault.internal": false, "printer.local": false, "api.default.svc": false,
		"a.localhost": false, "127.0.0.1": false, "169.254.169.254": false, "::1": false, "10.0.0.1": false, "fd00::1": false, "1.0.0.127.in-addr.arpa": false,
	} {
		h, err := ParseHost(host)
		if err != nil || (h.CheckPublic() == nil) != public {
			t.Errorf("%s: %v, %v; want public: %v", host, err, h.CheckPublic(), public)
		}
	}
}

func TestHostPatterns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		host, pattern string
		want          bool
	}{
		{"cdn.example.com", "cdn.example.com", true}, {"cdn.example.com", "CDN.example.com.", true}, {"cdn.example.com", "example.com", false}, {"cdn.example.com", "*.example.com", true},
		{"a.b.example.com", "*.example.com", true}, {"example.com", "*.example.com", false}, {"evilexample.com", "*.example.com", false}, {"10.0.0.1", "10.0.0.1", true}, {"10.0.0.1", "*.0.0.1", false},
		{"::1", "0:0:0:0:0:0:0:1", true}, {"x", "", false},
	} {
		h, err := ParseHost(tt.host)
		if err != nil || h.Matches(tt.pattern) != tt.want {
			t.Errorf("%s and %s: %v, want %v", tt.host, tt.pattern, err, tt.want)
		}
	}
}

// A URL that passes is read alike by the standard library.
func FuzzHostOf(f *testing.F) {
	for _, url := range []string{"https://cdn.example.com/a", "http://[::1]:80/", "http://a@b", "http://1.2.3.4", `http://a\b`} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := HostOf(text)
		if err != nil {
			return
		}
		if got, ok := standardHost(text); !ok || got != h {
			t.Errorf("%q is %v here and %v to others", text, h, got)
		}
	})
}

// standardHost is the host as net/url reads it; false where it cannot be read.
func standardHost(text string) (Host, bool) {
	u, err := url.Parse(text)
	if err != nil {
		// It refuses what is wrong behind the host too, which changes nothing about the host.
		scheme, rest, _ := strings.Cut(text, "://")
		authority, _, _ := strings.Cut(strings.NewReplacer("?", "/", "#", "/").Replace(rest), "/")
		if u, err = url.Parse(scheme + "://" + authority); err != nil {
			return Host{}, false
		}
	}
	h, err := ParseHost(u.Hostname())
	return h, err == nil
}
