package webhook

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/dial"
	"penstock/internal/store"
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
		err := strict.CheckJob(&store.JobWebhook{URL: url})
		if reason == "" && err != nil || reason != "" && (err == nil || !strings.Contains(err.Error(), reason)) {
			t.Errorf("%s: %v, want %q", url, err, reason)
		}
	}
	if err := open.CheckJob(&store.JobWebhook{URL: "http://localhost:8080/hook"}); err != nil {
		t.Errorf("loopback where it is allowed: %v", err)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]penstock.EventType{{}, {"job.queued"}, {"item.failed"}, {"job.finished", "job.finished"}} {
		if err := NewService(ServiceDeps{}).CheckJob(&store.JobWebhook{URL: "https://app.example", Events: bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	w := &store.JobWebhook{URL: "https://app.example"}
	if err := NewService(ServiceDeps{}).CheckJob(w); err != nil || len(w.Events) != 1 || w.Events[0] != penstock.EventJobFinished {
		t.Errorf("by default a job's webhook is told of %v: %v", w.Events, err)
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
		for _, part := range []string{"refused", "hook.example", addr, "webhooks.allow"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q does not say %q", text, part)
			}
		}
	}
	if text := explain(context.DeadlineExceeded, 15*time.Second); text != "no answer within 15s" {
		t.Errorf("a timeout reads %q", text)
	}
}

// The example of the specification's own reference implementations.
func TestSignatureOfTheSpecification(t *testing.T) {
	t.Parallel()
	secret := []byte("\x31\xf2\x07\xa4\x13\x2c\xa7\x10\x5a\xe8\x0b\x02\x9b\xd2\xbd\x1b\x4d\x31\x9f\xc7\x24\x37\x2e\x2e")
	got := signatures([][]byte{secret, secret}, signed{"msg_1", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)})
	if parts := strings.Fields(got); len(parts) != 2 || parts[0] != parts[1] || !strings.HasPrefix(parts[0], "v1,") {
		t.Errorf("signed as %q", got)
	}
}
