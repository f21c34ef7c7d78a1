package e2e

import (
	"slices"
	"strings"
	"testing"
)

// TestBatchProgress lists the batches of every dialect, newest first, also one that was refused, in pages that join.
func TestBatchProgress(t *testing.T) {
	t.Parallel()
	s := stage(t).Server
	file := s.uploaded(batchLines(2))
	refused := s.uploaded("{\"custom_id\":\"a\"}\n")
	var want []string
	add := func(path, body string) {
		want = append(want, readAs[struct{ ID string }](t, s.Do(post(path, body))).ID)
	}
	add("/v1/batches", `{"input_file_id":"`+file+`","endpoint":"/v1/chat/completions","completion_window":"24h"}`)
	add("/v1/messages/batches", `{"requests":[{"custom_id":"a","params":{"model":"sim-a","max_tokens":8,"messages":[{"role":"user","content":"Hi"}]}}]}`)
	add("/v1/batches", `{"input_file_id":"`+refused+`","endpoint":"/v1/chat/completions","completion_window":"24h"}`)
	native := s.Do(post("/v1/jobs", `{"input_file":"`+file+`","lane":"standard"}`))
	_, id, _ := strings.Cut(native.Body, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	want = append(want, id)
	slices.Reverse(want)

	type progress struct {
		Dialect, Status string
		Counts          struct{ Total int }
		Errors          []struct{ Line int }
	}
	type page struct {
		Data []struct {
			progress
			BatchID string `json:"batch_id"`
		}
		HasMore   bool   `json:"has_more"`
		NextAfter string `json:"next_after"`
	}
	var got, dialects []string
	for after := ""; ; {
		p := readAs[page](t, s.Do(get("/v1/batches/progress?limit=3"+after)))
		for _, b := range p.Data {
			got, dialects = append(got, b.BatchID), append(dialects, b.Dialect)
			if total := map[string]int{"anthropic": 1, "openai": 2, "native": 2}[b.Dialect]; len(b.Errors) == 0 && b.Counts.Total != total {
				t.Errorf("%s has %d items, want %d", b.BatchID, b.Counts.Total, total)
			}
			if (len(b.Errors) > 0) != (b.BatchID == want[1]) || len(b.Errors) > 0 && (b.Status != "failed" || b.Errors[0].Line != 1) {
				t.Errorf("the errors of %+v", b)
			}
		}
		if after = "&after=" + p.NextAfter; !p.HasMore {
			break
		}
	}
	if !slices.Equal(got, want) || !slices.Equal(dialects, []string{"native", "openai", "anthropic", "openai"}) {
		t.Errorf("got %v %v, want %v", got, dialects, want)
	}
}
