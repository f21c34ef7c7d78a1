package line

import (
	"bufio"
	"bytes"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/store"
)

// failure is the body of every failed request.
func failure(e penstock.ItemError, _ string) (int, []byte) {
	text, _ := json.Marshal(e.Message)
	return 500, text
}

func writtenLine(t interface{ Fatal(...any) }, kind store.BatchKind, item penstock.Item) string {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := (Writer{Failure: failure}).WriteLine(w, kind, item); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func drawUsage(t *rapid.T) (u penstock.Usage) {
	for i, n := range u.Counts() {
		*n = rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1<<40)).Draw(t, penstock.UsageNames[i])
	}
	return u
}

// TestLinesAreTheirViews holds that a line whose answer was put in as it is reads like one that was encoded as a
// whole, whatever callers and upstreams wrote.
func TestLinesAreTheirViews(t *testing.T) {
	t.Parallel()
	hostile := rapid.SampledFrom([]string{"", "row", `"body":null`, `","body":null,"`, `\"message\":null`, "null", "a\nb", "é\u2028"})
	rapid.Check(t, func(t *rapid.T) {
		answer, err := json.Marshal(map[string]any{"content": hostile.Draw(t, "answer"), "body": nil, "message": nil})
		if err != nil {
			t.Fatal(err)
		}
		item := penstock.Item{
			ID: "01JQ0000000000000000000000", Index: 3, CustomID: hostile.Draw(t, "custom id"), Target: hostile.Draw(t, "target"),
			Status: rapid.SampledFrom(penstock.Statuses[2:]).Draw(t, "status"), Seq: 7, Attempts: 1, StatusCode: 200,
			Cost: penstock.NanoUSD(rapid.Int64Range(0, 1<<40).Draw(t, "cost")), Usage: drawUsage(t),
		}
		if ended := rapid.Int64Range(0, 1<<52).Draw(t, "ended"); ended > 0 {
			item.FinishedAt = time.UnixMicro(ended)
		}
		switch item.Status {
		case penstock.StatusSucceeded:
			item.Result = answer
		default:
			item.Error = &penstock.ItemError{Code: penstock.CodePoison, Message: hostile.Draw(t, "message")}
		}
		for _, kind := range []store.BatchKind{store.BatchNative, store.BatchOpenAI, store.BatchAnthropic} {
			whole, err := json.Marshal(Writer{Failure: failure}.view(kind, item), lenient)
			if err != nil {
				t.Fatal(err)
			}
			if got := writtenLine(t, kind, item); got != string(whole)+"\n" {
				t.Fatalf("%s: the line is\n%swant\n%s", kind, got, whole)
			}
		}
	})
}

// TestLineOfReadableAnswer holds that an answer over several lines takes one.
func TestLineOfReadableAnswer(t *testing.T) {
	t.Parallel()
	item := penstock.Item{Status: penstock.StatusSucceeded, Result: []byte("{\r\n  \"a\": [1,\n2]\n}\n")}
	if got := writtenLine(t, store.BatchAnthropic, item); got != `{"custom_id":"","result":{"type":"succeeded","message":{"a":[1,2]}}}`+"\n" {
		t.Error(got)
	}
}
