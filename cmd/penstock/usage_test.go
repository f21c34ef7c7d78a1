package main

import (
	"strings"
	"testing"
)

const spentReport = `{"object":"usage","from":"2026-11-01","to":"2026-11-15","group_by":["tenant","model"],"data":[` +
	`{"tenant":"search","model":"fast","requests":2,"input_tokens":20,"cached_input_tokens":0,"cache_write_tokens":0,"output_tokens":9,"reasoning_tokens":0,"cost_usd":"0.000041200","forfeit_usd":"0.000000000"}],` +
	`"total":{"requests":2,"input_tokens":20,"cached_input_tokens":0,"cache_write_tokens":0,"output_tokens":9,"reasoning_tokens":0,"cost_usd":"0.000041200","forfeit_usd":"0.000000000"}}`

// The command shows groups and the server's total; for operators, of the admin API.
func TestUsage(t *testing.T) {
	t.Parallel()
	own := strings.Replace(spentReport, `"tenant","model"`, `"model"`, 1)
	f := &fake{answers: map[string]string{"GET /v1/usage?from=2026-11-01&group_by=model": own, "GET /v1/usage?group_by=model": own, "GET /admin/v1/usage?group_by=model": spentReport}}
	d := at(t, proving(t, f))
	d.env["PENSTOCK_ADMIN_URL"] = d.env["PENSTOCK_URL"]
	out := d.ok("usage", "--by", "model", "--from", "2026-11-01")
	for _, want := range []string{"MODEL", "fast", "total", "$0.000041200"} {
		if !strings.Contains(out, want) {
			t.Errorf("it prints\n%s\nwithout %s", out, want)
		}
	}
	check(t, d.run("usage", "--by", "model", "-o", "json"), typed{stdout: own + "\n"})
	if out := d.ok("usage", "--all-tenants", "--by", "model"); !strings.Contains(out, "TENANT") || !strings.Contains(out, "search") {
		t.Errorf("of all tenants:\n%s", out)
	}
	if got := d.run("usage", "--all-tenants", "--tenant", "search"); got.code != exitUsage {
		t.Errorf("of one and all: %+v", got)
	}
}
