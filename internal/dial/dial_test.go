package dial

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for addr, reason := range map[string]string{
		"93.184.216.34":        "",
		"2606:2800:220:1::1":   "",
		"64:ff9b::5db8:d822":   "", // 93.184.216.34 through NAT64
		"2002:5db8:d822::1":    "", // and through 6to4
		"127.0.0.1":            "loopback",
		"127.8.8.8":            "loopback",
		"::1":                  "loopback",
		"0.0.0.0":              "unspecified",
		"0.1.2.3":              "own",
		"::":                   "unspecified",
		"10.1.2.3":             "private",
		"172.16.0.1":           "private",
		"192.168.1.1":          "private",
		"fd12:3456::1":         "private",
		"169.254.1.1":          "link-local",
		"fe80::1":              "link-local",
		"fe80::1%eth0":         "link-local",
		"fec0::1":              "not public",
		"100.64.0.1":           "carriers",
		"224.0.0.1":            "multicast",
		"ff02::1":              "multicast",
		"255.255.255.255":      "reserved",
		"198.18.0.1":           "benchmarks",
		"169.254.169.254":      "metadata",
		"168.63.129.16":        "metadata",
		"100.100.100.200":      "metadata",
		"fd00:ec2::254":        "metadata",
		"::ffff:127.0.0.1":     "loopback",
		"::ffff:a9fe:a9fe":     "metadata",
		"::127.0.0.1":          "loopback",
		"64:ff9b::7f00:1":      "loopback",
		"64:ff9b::a9fe:a9fe":   "metadata",
		"64:ff9b:1::1":         "local network",
		"2002:7f00:1::1":       "loopback",
		"2002:a83f:8110::1":    "metadata",
		"2001:0:4136:e378::1":  "Teredo",
		"2001:db8::1":          "documentation",
		"4000::1":              "not public",
		"64:ff9b:0:0:1::1":     "not public",
		"2002:0a00:0001::cafe": "private",
	} {
		err := Policy{}.Check(netip.MustParseAddr(addr))
		if reason == "" && err != nil || reason != "" && (err == nil || !strings.Contains(err.Error(), reason)) {
			t.Errorf("%s: %v, want a refusal with %q", addr, err, reason)
		}
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	p := Policy{Allow: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("168.63.129.16/32"),
	}}
	for addr, open := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "127.0.0.1": false, "169.254.1.1": true, "168.63.129.16": true,
		"169.254.169.254": false, // a wide network does not open it
	} {
		if err := p.CheckPlain(netip.MustParseAddr(addr)); (err == nil) != open {
			t.Errorf("%s: %v, want open: %v", addr, err, open)
		}
	}
	if err := p.CheckPlain(netip.MustParseAddr("93.184.216.34")); err == nil || !strings.Contains(err.Error(), "use https") {
		t.Errorf("plain http to a public address: %v", err)
	}
	if err := (Policy{PlainHTTP: true}).CheckPlain(netip.MustParseAddr("93.184.216.34")); err != nil {
		t.Errorf("plain http where it is configured: %v", err)
	}
}

// An address is what it leads to, however it is written.
func TestFormsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var four [4]byte
		binary.BigEndian.PutUint32(four[:], rapid.Uint32().Draw(t, "address"))
		plain := netip.AddrFrom4(four)
		refused := Policy{}.Check(plain) != nil
		for name, prefix := range map[string][]byte{
			"mapped": {10: 0xff, 11: 0xff}, "nat64": {0: 0, 1: 0x64, 2: 0xff, 3: 0x9b, 11: 0}, "compatible": {11: 0},
		} {
			form := netip.AddrFrom16([16]byte(append(prefix, four[:]...)))
			if (Policy{}.Check(form) != nil) != refused {
				t.Fatalf("%s is refused: %v, but as %s it is not the same", plain, refused, name)
			}
		}
	})
}

// names resolves names from a table, by a resolver without a network.
func names(t *testing.T, answer func(lookup int64) netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	var lookups atomic.Int64
	go func() {
		question := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(dnsAnswer(question[:n], func() netip.Addr { return answer(lookups.Add(1)) }), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// dnsAnswer answers a question for an IPv4 address; for any other kind there is nothing.
func dnsAnswer(query []byte, addr func() netip.Addr) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	reply := append([]byte(nil), query[:end+5]...)
	reply[2], reply[3] = 0x81, 0x80
	copy(reply[6:12], []byte{0, 0, 0, 0, 0, 0})
	if kind != 1 {
		return reply
	}
	reply[7] = 1
	four := addr().As4()
	return append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), four[:]...)
}

// A name is judged by what it resolves to when it is connected to, not by what it resolved to before.
func TestNamesAreJudgedWhenTheyAreDialled(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"127.0.0.1", "169.254.169.254", "168.63.129.16"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			resolver := names(t, func(lookup int64) netip.Addr {
				if lookup == 1 {
					return netip.MustParseAddr("93.184.216.34")
				}
				return netip.MustParseAddr(target)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			before, err := resolver.LookupNetIP(ctx, "ip4", "hook.example")
			if err != nil || (Policy{}).Check(before[0]) != nil {
				t.Fatalf("the name does not look harmless at first: %v, %v", before, err)
			}
			for _, scheme := range []string{"http", "https"} {
				request, err := http.NewRequestWithContext(ctx, "POST", scheme+"://hook.example/", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				_, err = Policy{}.Client(resolver).Do(request)
				refusal, ok := errors.AsType[*Refusal](err)
				if !ok || refusal.Host != "hook.example" || refusal.Addr.String() != target {
					t.Errorf("%s: got %v, want a refusal that names the host and %s", scheme, err, target)
				}
			}
		})
	}
}

func TestClientReachesWhatIsAllowed(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	client := Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}.Client(nil)
	defer client.CloseIdleConnections()
	answer, err := client.Post(server.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusTemporaryRedirect || hits.Load() != 1 {
		t.Errorf("answered %d after %d calls; a redirect must not be followed", answer.StatusCode, hits.Load())
	}
	if _, err := (Policy{}).Client(nil).Post(server.URL, "application/json", nil); err == nil || hits.Load() != 1 {
		t.Errorf("loopback was reached though it was not allowed: %v", err)
	}
}

// The environment must not lead round the check.
func TestNoProxy(t *testing.T) {
	var hits atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	resolver := names(t, func(int64) netip.Addr { return netip.MustParseAddr("10.0.0.1") })
	if _, err := (Policy{PlainHTTP: true}).Client(resolver).Get("http://hook.example/"); err == nil || hits.Load() > 0 {
		t.Errorf("the call went through a proxy (%d hits): %v", hits.Load(), err)
	}
}
