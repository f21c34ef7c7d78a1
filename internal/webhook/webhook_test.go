package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/dial"
	"penstock/internal/signal"
	"penstock/internal/telemetry"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	strict := NewService(ServiceDeps{})
	open := NewService(ServiceDeps{Policy: dial.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	for url, reason := range map[string]string{
		"https://app.example/hook?x=1":                "",
		"https://93.184.216.34/":                      "",
		"http://app.example/":                         "https",
		"ftp://app.example/":                          "https URL",
		"https:///hook":                               "https URL",
		"app.example":                                 "https URL",
		"https://user:pw@app.example":                 "password",
		"https://app.example/#x":                      "fragment",
		"https://127.0.0.1/":                          "loopback",
		"https://localhost/":                          "loopback",
		"https://x.localhost./":                       "loopback",
		"https://169.254.169.254/latest":              "metadata",
		"https://168.63.129.16/":                      "metadata",
		"https://[fd00:ec2::254]/":                    "metadata",
		"https://[::ffff:10.0.0.1]/":                  "private",
		"https://10.0.0.1:8443/":                      "private",
		"https://" + strings.Repeat("a", MaxURLBytes): "at most",
	} {
		err := checkJob(strict, url)
		if reason == "" && err != nil || reason != "" && (err == nil || !strings.Contains(err.Error(), reason)) {
			t.Errorf("%s: %v, want %q", url, err, reason)
		}
	}
	if err := checkJob(open, "http://localhost:8080/hook"); err != nil {
		t.Errorf("loopback where it is allowed: %v", err)
	}
}

func checkJob(s *Service, url string) error {
	_, err := s.CheckJob(url, nil)
	return err
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]penstock.EventType{{}, {"job.queued"}, {"item.failed"}, {"job.finished", "job.finished"}} {
		if _, err := NewService(ServiceDeps{}).CheckJob("https://app.example", bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	events, err := NewService(ServiceDeps{}).CheckJob("https://app.example", nil)
	if err != nil || len(events) != 1 || events[0] != penstock.EventJobFinished {
		t.Errorf("by default a job's webhook is subscribed to %v: %v", events, err)
	}
}

// The waits of a schedule are those of the standard, within the jitter, and there are nine of them.
func TestScheduleProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		attempts := rapid.IntRange(1, 30).Draw(t, "attempts")
		d, again := wait(attempts)
		if again != (attempts <= 9) {
			t.Fatalf("after %d attempts: again is %v", attempts, again)
		}
		if again && (float64(d) < 0.9*float64(Schedule[attempts-1]) || float64(d) > 1.1*float64(Schedule[attempts-1])) {
			t.Fatalf("after %d attempts it waits %v", attempts, d)
		}
		failures := rapid.IntRange(1, 1000).Draw(t, "failures")
		if r := rest(failures); (r == 0) != (failures < BreakerFailures) || r > MaxRest+MaxRest/10 {
			t.Fatalf("after %d failures it rests %v", failures, r)
		}
	})
}

func TestRefusalsAreExplained(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1", "169.254.169.254", "168.63.129.16"} {
		text := explain(blocked("hook.example", addr), time.Second)
		for _, part := range []string{"refused", "hook.example", "webhooks.allow"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q does not say %q", text, part)
			}
		}
		if strings.Contains(text, addr) {
			t.Errorf("%q tells the address that our resolver found", text)
		}
		if text := explain(blocked(addr, addr), time.Second); !strings.Contains(text, addr) {
			t.Errorf("%q does not name the address that the owner wrote", text)
		}
	}
	if text := explain(context.DeadlineExceeded, 15*time.Second); text != "no answer within 15s" {
		t.Errorf("a timeout reads %q", text)
	}
}

// What a tenant reads of a failed delivery names nothing of the operator's network, whatever went wrong.
func TestExplanationsHideTheNetwork(t *testing.T) {
	t.Parallel()
	const inside, resolver = "10.20.30.40", "10.96.0.10:53"
	at := &net.TCPAddr{IP: net.ParseIP(inside), Port: 443}
	for want, cause := range map[string]error{
		"could not be resolved":   &net.DNSError{Err: "server misbehaving", Name: "hook.example", Server: resolver},
		"connection was refused":  &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"connection broke":        &net.OpError{Op: "read", Net: "tcp", Source: at, Addr: at, Err: os.NewSyscallError("read", syscall.ECONNRESET)},
		"no answer within 1s":     &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.ErrDeadlineExceeded},
		"not trusted":             &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"vault.internal"}}, Host: "hook.example"}},
		"operator's log":          &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)},
		"not lead to a public":    blocked("hook.example", inside),
		"no secure connection":    tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
		"answered 500":            publicError("answered 500"),
		"connection broke before": io.EOF,
	} {
		text := explain(&url.Error{Op: "Post", URL: "https://hook.example/?token=hidden", Err: cause}, time.Second)
		if !strings.Contains(text, want) {
			t.Errorf("%v reads %q, want %q", cause, text, want)
		}
		for _, secret := range []string{inside, "10.96", "vault", "hidden", ":53", "443"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q tells %s", text, secret)
			}
		}
	}
}

// The example that the specification's reference implementations are tested with.
func TestSignatureOfTheReference(t *testing.T) {
	t.Parallel()
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	m := signed{"msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)}
	if got := signatures([][]byte{secret, []byte("another")}, m); !strings.HasPrefix(got, want+" v1,") {
		t.Errorf("signed as %q, want %q first", got, want)
	}
}

// With the client that the program uses, what must not be reached is not, and the log says why. It is tried again: an
// operator may allow it, a name may be mended.
func TestForbiddenAddressesAreRefused(t *testing.T) {
	t.Parallel()
	r, err := New(Deps{
		Outbox: struct{ Outbox }{}, Wake: signal.NewTopic[signal.None](nil, "deliveries"), Client: dial.Policy{}.Client(nil), Timeout: attemptTimeout, Poll: PollInterval,
		Metrics: telemetry.NewMetrics("test", ""), Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "169.254.169.254", "168.63.129.16", "[::1]", "[::ffff:7f00:1]", "localhost"} {
		for _, scheme := range []string{"https", "http"} {
			c := &DeliveryClaim{Delivery: penstock.Delivery{URL: scheme + "://" + host + ":9/hook"}, Secrets: [][]byte{{1}}}
			report := r.attempt(t.Context(), c)
			if report.Outcome != OutcomeRetry || report.Try.StatusCode != 0 || !strings.HasPrefix(report.Try.Error, "refused: ") {
				t.Errorf("%s://%s: %+v", scheme, host, report)
			}
		}
	}
}

// An attempt that our own stop cuts off does not count.
func TestStopReleases(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	cut := roundTrip(func(request *http.Request) (*http.Response, error) {
		stop()
		return nil, request.Context().Err()
	})
	r := &Runner{Deps: Deps{Client: &http.Client{Transport: cut}, Timeout: attemptTimeout, Clock: time.Now, Log: slog.New(slog.DiscardHandler)}}
	c := &DeliveryClaim{Delivery: penstock.Delivery{URL: "https://app.example/hook"}, Secrets: [][]byte{{1}}}
	if report := r.attempt(ctx, c); report.Outcome != OutcomeRelease {
		t.Errorf("reported %+v", report)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const attemptTimeout = 15 * time.Second

// blocked is a policy's refusal as a transport reports it.
func blocked(host, addr string) error {
	refusal, _ := errors.AsType[*dial.Refusal](dial.Policy{}.Check(netip.MustParseAddr(addr)))
	return &dial.Refusal{Host: host, Addr: refusal.Addr, Reason: refusal.Reason}
}
