package webhook

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// FuzzHostOf holds that no name is accepted that C libraries read as an IPv4 address.
func FuzzHostOf(f *testing.F) {
	for _, host := range []string{"app.example", "127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "1.2.3.4.", "localhost", "a.0x1", "a.08", "1.e", "xn--a", "[::1]"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		u, err := url.Parse("https://" + host + "/")
		if err != nil {
			return
		}
		addr, ok := hostOf(u)
		name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		if ok && !addr.IsValid() && loose(name) {
			t.Errorf("%q is taken for a name; inet_aton reads an address", name)
		}
		if ok && !addr.IsValid() && (name == "" || len(name) > maxHostBytes || strings.ContainsAny(name, " \t\r\n\x00/\\@#?%[]:")) {
			t.Errorf("%q is taken for a name", name)
		}
	})
}

// loose reports whether inet_aton reads a text: one to four numbers, decimal, octal or hexadecimal.
func loose(text string) bool {
	parts := strings.Split(text, ".")
	if len(parts) > 4 {
		return false
	}
	for _, part := range parts {
		base := 10
		switch {
		case strings.HasPrefix(part, "0x"):
			part, base = part[2:], 16
		case len(part) > 1 && part[0] == '0':
			base = 8
		}
		if _, err := strconv.ParseUint(part, base, 32); err != nil {
			return false
		}
	}
	return true
}
