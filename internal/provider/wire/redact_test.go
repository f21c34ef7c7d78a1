package wire

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"penstock/internal/provider"
)

const quotedKey = "sk-proj/Abc+1&2=_x.9"

// spellings are the ways in which a key may come back.
func spellings(key string) map[string]string {
	each := func(format string) string {
		var b strings.Builder
		for i := range len(key) {
			fmt.Fprintf(&b, format, key[i])
		}
		return b.String()
	}
	all := map[string]string{
		"as it is":       key,
		"slash":          strings.ReplaceAll(key, "/", `\/`),
		"unicode":        each(`\u%04x`),
		"upper unicode":  each(`\u%04X`),
		"JSON in JSON":   each(`\\u%04x`),
		"JSON twice":     each(`\\\\u%04x`),
		"slash twice":    strings.ReplaceAll(key, "/", `\\\/`),
		"one unicode":    strings.Replace(key, "k", `\u006b`, 1),
		"ampersand JSON": strings.ReplaceAll(key, "&", `\u0026`),
		"URL":            url.QueryEscape(key),
		"URL all":        each("%%%02x"),
		"HTML decimal":   each("&#%d;"),
		"HTML hex":       each("&#x%x;"),
		"HTML padded":    each("&#X%04X;"),
		"HTML names":     strings.NewReplacer("&", "&amp;", "/", "&sol;", "+", "&plus;", "=", "&equals;").Replace(key),
		"hex":            hex.EncodeToString([]byte(key)),
		"capitals":       strings.ToUpper(key),
		"lower case":     strings.ToLower(key),
		"upper hex":      strings.ToUpper(hex.EncodeToString([]byte(key))),
	}
	for _, around := range []string{"", "x", "xy", "user:", "Bearer "} {
		text := []byte(around + key + around)
		all["base64 "+around] = base64.StdEncoding.EncodeToString(text)
		all["raw base64url "+around] = base64.RawURLEncoding.EncodeToString(text)
		all["escaped base64 "+around] = strings.ReplaceAll(base64.StdEncoding.EncodeToString(text), "/", `\/`)
	}
	return all
}

// revealing is what is left of a key that can be read in a text.
func revealing(text string) bool {
	for _, form := range append(encodedForms(quotedKey), quotedKey) {
		if strings.Contains(text, form) {
			return true
		}
	}
	for name, spelled := range spellings(quotedKey) {
		if !strings.Contains(name, "base64") && strings.Contains(text, spelled) {
			return true
		}
	}
	return false
}

func TestSecretsAreFoundInEveryForm(t *testing.T) {
	t.Parallel()
	r := newRedactor([]string{"sk-another", quotedKey})
	for name, spelled := range spellings(quotedKey) {
		for _, around := range []string{"", "a ", `\`, "%", "&", `\\`, "sk-", quotedKey[:7]} {
			got := r.replace(around + spelled + " behind")
			if !strings.Contains(got, redacted) || revealing(got) || !strings.HasSuffix(got, " behind") {
				t.Errorf("%s behind %q: %q became %q", name, around, spelled, got)
			}
		}
	}
}

func TestInnocentTextStays(t *testing.T) {
	t.Parallel()
	r := newRedactor([]string{quotedKey, "EMPTY"})
	for _, text := range []string{
		"", "sk-", quotedKey[1:], quotedKey[:len(quotedKey)-1], `\`, `\\\`, `\u`, `\u00`, "%", "%2", "&", "&#", "&#x;", "&#;", "&amp", "%zz", "empty",
		`{"error":{"message":"Invalid \"model\": caf\u00e9 \ud83d\ude00 100% a&b","code":null}}`,
	} {
		if got := r.replace(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := newRedactor(nil).replace("anything"); got != "anything" {
		t.Errorf("%q", got)
	}
}

// Whatever form an upstream repeats our key in, and however its bytes arrive, the caller gets the same error without it.
func TestErrorsSayNoKeyInAnyForm(t *testing.T) {
	t.Parallel()
	for name, spelled := range spellings(quotedKey) {
		spelled = strings.ReplaceAll(spelled, `"`, `\"`)
		for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusInternalServerError} {
			var said []string
			for _, step := range []int{1, 1000} {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-Request-Id", "id "+strings.ReplaceAll(spelled, "\n", ""))
					w.Header().Set("Content-Type", "text/event-stream")
					text := `{"error":"` + spelled + `"}`
					if status == http.StatusOK {
						text = "data: a\n\ndata: " + text + "\n\n"
					}
					w.WriteHeader(status)
					for ; text != ""; text = text[min(step, len(text)):] {
						io.WriteString(w, text[:min(step, len(text))])
						w.(http.Flusher).Flush()
					}
				}))
				call := streamCall()
				answer, err := newClient(t, Config{BaseURL: server.URL, APIKey: quotedKey}).Call(t.Context(), call, request(call))
				if err == nil {
					if id := answer.Meta().UpstreamID; revealing(id) || !strings.Contains(id, redacted) {
						t.Errorf("%s: the id is %q", name, id)
					}
					for err == nil {
						_, err = answer.Next()
					}
					answer.Close()
				}
				e := provider.AsError(err)
				said = append(said, e.Error()+" | "+string(e.Body))
				server.Close()
			}
			if said[0] != said[1] || revealing(said[0]) {
				t.Errorf("%s with %d: %q and %q", name, status, said[0], said[1])
			}
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, spelled := range spellings(quotedKey) {
		f.Add("before " + spelled + " behind")
	}
	r := newRedactor([]string{quotedKey})
	f.Fuzz(func(t *testing.T, text string) {
		if got := r.replace(text); revealing(got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
