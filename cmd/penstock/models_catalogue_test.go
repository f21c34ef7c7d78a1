package main

import (
	"net/http"
	"strings"
	"testing"

	"penstock/internal/catalogue"
)

func TestModelsListCatalogue(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	got := d.run("models", "list", "--catalogue", "--vendor", "openai", "--capability", "vision,tools", "--name", "4o-mini", "--mode", "chat", "--min-context", "100000")
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if got.code != exitOK || len(lines) < 2 || !strings.HasPrefix(lines[0], "MODEL") || !strings.Contains(got.stdout, "openai/gpt-4o-mini ") ||
		!strings.Contains(got.stderr, "of the catalogue of 2026-08-08, 99 days old.") {
		t.Errorf("%+v", got)
	}
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "openai/") || !strings.Contains(line, "4o-mini") || !strings.Contains(line, "vision") {
			t.Errorf("it lists %q", line)
		}
	}
	// The JSON is a catalogue file.
	path := write(t, "models.jsonl", d.ok("models", "list", "--catalogue", "--vendor", "groq", "-o", "json"))
	book, err := catalogue.Load(path)
	if err != nil || book.Date != "2026-08-08" || len(book.Entries) != len(catalogue.Embedded().Names("groq")) {
		t.Fatalf("%v: %+v", err, book)
	}
	config := write(t, "penstock.yaml", "catalogue: {file: "+path+"}\nproviders: {p: {kind: openai, api_key: \"${NOT_SET}\"}}\n")
	if got := d.run("models", "list", "--catalogue", "-c", config); strings.Count(got.stdout, "\n") != len(book.Entries)+1 {
		t.Errorf("the catalogue of a configuration: %+v", got)
	}
	for _, tt := range []struct{ want, args string }{
		{`the catalogue has no vendor "opnai"; did you mean "openai"?`, "--catalogue --vendor opnai"},
		{"--vendor needs --catalogue", "--vendor openai"},
	} {
		if got := d.run(append([]string{"models", "list"}, strings.Fields(tt.args)...)...); got.code != exitUsage || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: %+v", tt.args, got)
		}
	}
}

// A hard budget may pay a price of the catalogue, but the log, the answer and the record say where the price came from.
func TestHardBudgetToldOfCataloguePrice(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	path := write(t, "penstock.yaml", strings.NewReplacer("http://127.0.0.1:1", upstream(t), `price: {input: "0.15", output: "0.60"}`, "catalogue: openai/gpt-4o-mini",
		"demo: {keys", `demo: {budget: {daily_usd: "1", hard: true}, keys`).Replace(goodYAML))
	server := d.serves(path)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.env["PENSTOCK_URL"]+"/v1/chat/completions",
		strings.NewReader(`{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	source := "catalogue " + catalogue.Embedded().Date
	if resp.StatusCode != http.StatusOK || resp.Header.Get("x-penstock-price-source") != source || resp.Header.Get("x-penstock-unpriced") != "" {
		t.Errorf("%s: %v", resp.Status, resp.Header)
	}
	if got := d.ok("jobs", "submit", "-m", "fast", "--wait", "Hi"); got == "" {
		t.Error("a job under a hard budget has no answer")
	}
	if got := d.ok("budgets", "list", "--tenant", "demo", "-o", "json"); !strings.Contains(got, `"limit_usd":"1`) {
		t.Errorf("budgets: %s", got)
	}
	if code, stderr := server.result(); code != exitOK || !strings.Contains(stderr, `"level":"WARN","msg":"The price of 1 target comes from the catalogue of `) {
		t.Errorf("stopped with %d: %s", code, stderr)
	}
	if got := d.ok("ledger", "verify", "-c", path); !strings.HasSuffix(got, ": 0 problems.\n") {
		t.Errorf("ledger: %s", got)
	}
}
