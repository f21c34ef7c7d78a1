package dial

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// inward are addresses that must never be connected to, whatever name resolves to them.
var inward = []string{
	"127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.100.100.200",
	"169.254.169.254", "169.254.1.1", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1",
	"::1", "::", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "64:ff9b:1:ffff::1",
	"2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::", "fe80::1", "fec0::1", "fd12:3456::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "100::1", "4000::1",
}

// resolving answers every question with the given addresses, of the kind that was asked for.
func resolving(t *testing.T, addrs ...netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		question := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(records(question[:n], addrs), from) // a resolver that gets no answer asks again
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// records is the answer to a DNS query: an A or AAAA record for each address of that kind.
func records(query []byte, addrs []netip.Addr) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	reply := append([]byte(nil), query[:end+5]...)
	reply[2], reply[3] = 0x81, 0x80
	copy(reply[6:12], make([]byte, 6))
	for _, addr := range addrs {
		if addr.Is4() != (kind == 1) || kind != 1 && kind != 28 {
			continue
		}
		reply[7]++
		data := addr.AsSlice()
		reply = append(reply, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
		reply = append(reply, data...)
	}
	return reply
}

// TestAttackNamesThatLeadInward resolves a harmless name to every inward address, by A and AAAA records, and as one of
// several: no connection is made to it over either scheme, and the refusal names it.
func TestAttackNamesThatLeadInward(t *testing.T) {
	t.Parallel()
	for _, text := range inward {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			addr := netip.MustParseAddr(text)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			client := Policy{PlainHTTP: true}.Client(resolving(t, addr))
			for _, scheme := range []string{"http", "https"} {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://hook.example/", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				_, err = client.Do(request)
				if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Host != "hook.example" {
					t.Errorf("%s: got %v, want a refusal", scheme, err)
				}
			}
		})
	}
}

// TestAttackMixedAnswers resolves a name to an address that is allowed and one that is not: the other one is not tried.
func TestAttackMixedAnswers(t *testing.T) {
	t.Parallel()
	var good, bad atomic.Int64
	count := func(n *atomic.Int64) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) })
	}
	canary := httptest.NewServer(count(&bad))
	defer canary.Close()
	_, port, _ := net.SplitHostPort(canary.Listener.Addr().String())
	l, err := net.Listen("tcp", "127.0.0.3:"+port)
	if err != nil {
		t.Skip("this machine has one loopback address only")
	}
	server := &http.Server{Handler: count(&good), ReadHeaderTimeout: time.Minute}
	go server.Serve(l)
	defer server.Close()
	allowed := netip.MustParseAddr("127.0.0.3")
	for _, order := range [][]netip.Addr{{allowed, netip.MustParseAddr("127.0.0.1")}, {netip.MustParseAddr("127.0.0.1"), allowed}} {
		client := Policy{Allow: []netip.Prefix{netip.PrefixFrom(allowed, 32)}}.Client(resolving(t, order...))
		answer, err := client.Post("http://hook.example:"+port+"/", "application/json", strings.NewReader("{}"))
		if err == nil {
			answer.Body.Close()
		}
		client.CloseIdleConnections()
	}
	if bad.Load() > 0 || good.Load() == 0 {
		t.Errorf("%d calls reached the address that is not allowed, %d the other", bad.Load(), good.Load())
	}
}
