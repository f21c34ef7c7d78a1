package penstock

import (
	"flag"
	"fmt"
	"go/ast"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the reference pages that are made from the code")

// generatedNote stands at the head of every page that is made from the code.
const generatedNote = "<!-- Made from the code by `make docs`. Do not edit. -->\n\n"

// checkPage compares a page with what the code says, or writes it.
func checkPage(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale; run: make docs", name)
	}
}

// constant is one constant of the package with its value and its comment.
type constant struct{ name, value, comment string }

// constantsOf reads the constants of one type, in the order of the source.
func constantsOf(t *testing.T, typ string) []constant {
	t.Helper()
	var found []constant
	for _, s := range sources(t) {
		if directoryOf(s) != "." || s.test() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != typ || len(spec.Values) != 1 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, constant{spec.Names[0].Name, value, strings.TrimSpace(spec.Comment.Text())})
			}
			return true
		})
	}
	return found
}

// sentence makes a comment a sentence of its own.
func sentence(comment string) string {
	return strings.ToUpper(comment[:1]) + strings.TrimSuffix(comment[1:], ".") + "."
}

var (
	statusRow    = regexp.MustCompile(`penstock\.(Code\w+):\s+(?:http\.)?([sS]tatus\w+),`)
	statusNumber = map[string]int{
		"StatusBadRequest": http.StatusBadRequest, "StatusUnauthorized": http.StatusUnauthorized, "StatusPaymentRequired": http.StatusPaymentRequired,
		"StatusForbidden": http.StatusForbidden, "StatusNotFound": http.StatusNotFound, "StatusConflict": http.StatusConflict, "StatusGone": http.StatusGone,
		"StatusPreconditionFailed": http.StatusPreconditionFailed, "StatusRequestEntityTooLarge": http.StatusRequestEntityTooLarge,
		"StatusUnprocessableEntity": http.StatusUnprocessableEntity, "StatusTooManyRequests": http.StatusTooManyRequests,
		"StatusInternalServerError": http.StatusInternalServerError, "StatusBadGateway": http.StatusBadGateway,
		"StatusServiceUnavailable": http.StatusServiceUnavailable, "StatusGatewayTimeout": http.StatusGatewayTimeout, "StatusClientClosed": 499,
	}
)

// statusesOfCodes reads the table of the HTTP packages that gives codes their statuses, wherever it lies.
func statusesOfCodes(t *testing.T) map[string]int {
	t.Helper()
	statuses := map[string]int{}
	for _, s := range sources(t) {
		if s.test() || !strings.HasPrefix(directoryOf(s), "internal/") {
			continue
		}
		text, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range statusRow.FindAllSubmatch(text, -1) {
			number := statusNumber[string(row[2])]
			if old, known := statuses[string(row[1])]; number == 0 || known && old != number {
				t.Fatalf("%s gives %s the status %s; another table gives %d", s.path, row[1], row[2], old)
			}
			statuses[string(row[1])] = number
		}
	}
	return statuses
}

func TestErrorReference(t *testing.T) {
	t.Parallel()
	statuses := statusesOfCodes(t)
	codes := constantsOf(t, "Code")
	var b strings.Builder
	b.WriteString("# Errors\n\n" + generatedNote + "Every error has one of these codes. The list is closed: callers may switch on it. `retryable` says whether the same call may succeed later. " +
		"[Dialects](dialects.md#errors) shows the envelope in each dialect, and [states](../explanation/states.md#what-an-error-means-for-an-item) shows what upstream errors mean for an item.\n\n" +
		"| code | status | retryable | meaning |\n|---|---|---|---|\n")
	for _, c := range codes {
		if c.comment == "" || statuses[c.name] == 0 || !slices.Contains(Codes, Code(c.value)) {
			t.Errorf("%s has no comment, no status, or is not in Codes", c.name)
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", c.value, statuses[c.name], yesNo(Code(c.value).Retryable()), sentence(c.comment))
	}
	if len(codes) != len(Codes) {
		t.Errorf("%d constants, %d codes", len(codes), len(Codes))
	}
	checkPage(t, "docs/reference/errors.md", b.String())
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func TestEventReference(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Events\n\n" + generatedNote + "A job has a log of numbered events. `GET /v1/jobs/{id}/events` streams it, and [webhooks](../how-to/receive-webhooks.md) send some of them. " +
		"[Follow a job](../how-to/follow-a-job.md) describes what is promised.\n\n| event | webhook | meaning |\n|---|---|---|\n")
	for _, e := range constantsOf(t, "EventType") {
		if e.comment == "" {
			t.Errorf("%s has no comment", e.name)
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.value, yesNo(slices.Contains(WebhookEvents, EventType(e.value)) || EventType(e.value) == EventWebhookTest), sentence(e.comment))
	}
	checkPage(t, "docs/reference/events.md", b.String())
}
