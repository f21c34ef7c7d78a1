package store

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"penstock"
)

func TestFingerprintsTellCausesApart(t *testing.T) {
	t.Parallel()
	usual := Cause{penstock.CodeUpstreamRejected, "rejected", "mini", 400, "Unknown parameter: 'max_tokns'."}
	if got := usual.Fingerprint(); got != "upstream_rejected/rejected/mini/400/"+got[len(got)-8:] {
		t.Errorf("it is %q", got)
	}
	change := func(f func(*Cause)) Cause { c := usual; f(&c); return c }
	for name, other := range map[string]Cause{
		"code":    change(func(c *Cause) { c.Code = penstock.CodeContextTooLong }),
		"kind":    change(func(c *Cause) { c.Kind = "context_too_long" }),
		"target":  change(func(c *Cause) { c.Target = "large" }),
		"413":     change(func(c *Cause) { c.Status = 413 }),
		"422":     change(func(c *Cause) { c.Status = 422 }),
		"message": change(func(c *Cause) { c.Message = "The image could not be read." }),
	} {
		if other.Fingerprint() == usual.Fingerprint() {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
}

// Messages of one cause are one, however they name the call.
func TestNormalMessage(t *testing.T) {
	t.Parallel()
	for want, messages := range map[string][]string{
		"": {"", "  ", "{}[]();,.", "\xff\xfe"},
		"this model's maximum context length is # tokens however you requested # tokens": {
			"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
			"This model's maximum context length is 128000 tokens; however you requested 130,001 tokens",
		},
		"no such file # request id #": {
			`No such file: "a.txt" (request id: req_011CSHoEeqs5C35K2UUqR7Fy)`,
			`No such file 'b c.txt' (request id 3fa85f64-5717-4562-b3fc-2c963f66afa6)`,
			"no such FILE `x` [Request ID: deadbeefcafe]",
		},
		"retry at #": {"Retry at 2026-11-16T03:19:00Z", "retry at 03:19:00.123", "Retry at 1763263140"},
		"invalid value for messages # content": {
			"Invalid value for messages[0].content", "invalid value for messages[17].content!",
		},
		"don't send that again":  {"Don't send that again", "DON'T send that, again!"},
		"mail # com about #":     {"mail ann@example.com about 10.0.0.7", "Mail BOB@example.com: about 10.9.0.1"},
		"sum is #":               {"sum is 1, 2, 3", "sum is 0x1f 0x2e", "sum is -1.5e9"},
		"ungeschlossen wie hier": {`ungeschlossen "wie hier`, "Ungeschlossen: wie hier"},
		"日本語 のエラー":               {"日本語 のエラー", "日本語: のエラー"},
	} {
		for _, message := range messages {
			if got := NormalMessage(message); got != want {
				t.Errorf("%q becomes %q, want %q", message, got, want)
			}
		}
	}
}

// A hostile upstream can neither make it long nor slow, nor break what is stored.
func TestNormalMessageIsBounded(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "9", "'", `"`, "`", "“", " ", "\x00", "\xff", "é", "word ", "«", "@", "-"}
	for range 2000 {
		var b strings.Builder
		for range random.IntN(3000) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		got := NormalMessage(b.String())
		if len(got) > maxMessageKept || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\"`") {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
	}
	for _, huge := range []string{strings.Repeat("'", 1<<20), strings.Repeat("a ", 1<<20), strings.Repeat("9", 1<<20), strings.Repeat("“", 1<<20)} {
		if got := NormalMessage(huge); len(got) > maxMessageKept {
			t.Errorf("%d bytes", len(got))
		}
	}
}
