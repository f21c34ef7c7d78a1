package main

import (
	"strings"
	"testing"
)

const deadLetterJSON = `{"item_id":"item_2","job_id":"job_1","model":"fast","code":"poison","error_kind":null,"message":"It took down 3 workers, one after the other, and the rest of this is long.","fingerprint":"f1","created_at":"2026-11-15T02:00:00Z"}`

func TestDeadLettersList(t *testing.T) {
	t.Parallel()
	const group = `{"fingerprint":"f1","count":3,"model":null,"code":"poison","error_kind":null,"first_at":"2026-11-14T03:00:00Z",` +
		`"last_at":"2026-11-15T02:00:00Z","sample":` + deadLetterJSON + `}`
	const groups = `{"object":"list","data":[` + group + `],"has_more":false}`
	const deadLetters = `{"object":"list","data":[` + deadLetterJSON + `],"has_more":false}`
	d := at(t, &fake{answers: map[string]string{
		"GET /v1/dead_letters?limit=21":       groups,
		"GET /v1/dead_letters/items?limit=21": deadLetters,
		"GET /v1/dead_letters/items?code=poison&created_after=2026-11-14T03%3A00%3A00Z&created_before=2026-11-15T00%3A00%3A00Z" +
			"&error_kind=timeout&fingerprint=f1%2Fa&job_id=job_1&limit=21&model=fast": `{"data":[],"has_more":false}`,
	}})
	check(t, d.run("dead-letters", "list", "-o", "json"), typed{stdout: groups + "\n"})
	check(t, d.run("dead-letters", "list", "--items", "-o", "json"), typed{stdout: deadLetters + "\n"})
	none := d.run("dead-letters", "list", "--items", "--code", "poison", "--since", "24h", "--before", "2026-11-15T00:00:00Z", "--kind", "timeout",
		"--fingerprint", "f1/a", "--job", "job_1", "--model", "fast")
	check(t, none, typed{stderr: "There are no dead letters.\n"})
	d.terminal = true
	check(t, d.run("dead-letters", "list"), typed{stdout: "" +
		"FINGERPRINT  COUNT  MODEL  FIRST    LAST     SAMPLE  MESSAGE\n" +
		"f1           3      -      24h ago  60m ago  item_2  It took down 3 workers, one after the other, and the rest o…\n"})
	check(t, d.run("dead-letters", "list", "--items"), typed{stdout: "" +
		"ITEM    JOB    MODEL  CODE    KIND  FINGERPRINT  CREATED  MESSAGE\n" +
		"item_2  job_1  fast   poison  -     f1           60m ago  It took down 3 workers, one after the other, and the rest o…\n"})
}

func TestDeadLettersRetry(t *testing.T) {
	t.Parallel()
	const done = `{"object":"dead_letter_retry","dry_run":false,"jobs":[{"job_id":"job_3","retry_of":"job_1","items":2}],"items":2,"remaining":1,` +
		`"skipped":[{"job_id":"job_2","items":1,"error":{"code":"model_not_found","message":"There is no model \"old\"."}}]}`
	f := &fake{answers: map[string]string{"POST /v1/dead_letters/retry": done}}
	d := at(t, f)
	check(t, d.run("dead-letters", "retry", "--model", "fast", "--fresh", "--rate", "2.5"), typed{
		stdout: "RETRY OF  JOB    ITEMS  ERROR\n" +
			"job_1     job_3  2      -\n" +
			"job_2     -      1      model_not_found: There is no model \"old\".\n",
		stderr: "Retried 2 dead letters in 1 job; 1 left.\n",
	})
	if want := `{"filter":{"model":"fast"},"resolve":"fresh","rate":2.5}`; f.body != want {
		t.Errorf("it sends %s, want %s", f.body, want)
	}
	check(t, d.run("dead-letters", "retry", "--all", "--dry-run", "-o", "json"), typed{stdout: done + "\n"})
	if want := `{"filter":{"all":true},"dry_run":true}`; f.body != want {
		t.Errorf("it sends %s, want %s", f.body, want)
	}

	f.answers["POST /v1/dead_letters/retry"] = `{"dry_run":true,"jobs":[{"job_id":null,"retry_of":"job_1","items":1}],"items":1,"remaining":0,"skipped":[]}`
	check(t, d.run("dead-letters", "retry", "--all", "--dry-run"), typed{
		stdout: "RETRY OF  JOB  ITEMS  ERROR\njob_1     -    1      -\n", stderr: "Would retry 1 dead letter in 1 job; 0 left.\n",
	})
	f.answers["POST /v1/dead_letters/retry"] = `{"jobs":[],"items":0,"remaining":0,"skipped":[]}`
	check(t, d.run("dead-letters", "retry", "--all"), typed{stderr: "There are no such dead letters.\n"})
}

func TestDeadLettersDismiss(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string]string{"POST /v1/dead_letters/dismiss": `{"dry_run":false,"items":1,"remaining":4}`}}
	d := at(t, f)
	check(t, d.run("dead-letters", "dismiss", "--code", "poison", "--job", "job_1"), typed{stdout: "Dismissed 1 dead letter; 4 left.\n"})
	if want := `{"filter":{"job_id":"job_1","code":"poison"}}`; f.body != want {
		t.Errorf("it sends %s, want %s", f.body, want)
	}
	f.answers["POST /v1/dead_letters/dismiss"] = `{"dry_run":true,"items":2,"remaining":0}`
	check(t, d.run("dead-letters", "dismiss", "--all", "--dry-run"), typed{stdout: "Would dismiss 2 dead letters; 0 left.\n"})
}

// Nothing is sent unless it is said which dead letters are meant.
func TestDeadLettersMustBeNamed(t *testing.T) {
	t.Parallel()
	f := &fake{}
	d := at(t, f)
	for _, args := range []string{"retry", "dismiss", "retry --fresh --rate 1", "dismiss --dry-run", "retry --all --model fast",
		"retry --all --rate 0", "dismiss --all --since 1h", "retry --since yesterday"} {
		if got := d.run(append([]string{"dead-letters"}, strings.Fields(args)...)...); got.code != exitUsage || got.stdout != "" {
			t.Errorf("dead-letters %s: %+v", args, got)
		}
	}
	if len(f.asked) > 0 {
		t.Errorf("it sent %q", f.asked)
	}
}

func TestJobsRetry(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string]string{"POST /v1/jobs/job_0/retry": queuedJob}}
	d := at(t, f)
	check(t, d.run("jobs", "retry", "job_0"), typed{stdout: "job_1\n"})
	if f.body != `{}` || f.head.Get("Idempotency-Key") == "" {
		t.Errorf("it sends %s under %q", f.body, f.head.Get("Idempotency-Key"))
	}
	check(t, d.run("jobs", "retry", "job_0", "--fresh", "--rate", "5", "--idempotency-key", "k-1", "-o", "json"), typed{stdout: queuedJob + "\n"})
	if want := `{"resolve":"fresh","rate":5}`; f.body != want || f.head.Get("Idempotency-Key") != "k-1" {
		t.Errorf("it sends %s under %q", f.body, f.head.Get("Idempotency-Key"))
	}
	if got := d.run("jobs", "retry", "job_0", "--rate", "0"); got.code != exitUsage {
		t.Errorf("a rate of 0: %+v", got)
	}
	f.answers["POST /v1/jobs/job_0/retry"] = `{"retry_of":"job_0","items":3,"at_most":{"tokens":120,"cost_usd":"0.02"}}`
	if got := d.ok("jobs", "retry", "job_0", "--dry-run"); !strings.Contains(got, "120 tokens, $0.02") || f.body != `{"dry_run":true}` {
		t.Errorf("a dry run sends %s and prints %q", f.body, got)
	}
	f.answers["POST /v1/jobs/job_0/retry"] = queuedJob
	d.terminal = true
	check(t, d.run("jobs", "retry", "job_0"), typed{stdout: "job_1\n", stderr: "Accepted. Follow it with: penstock jobs watch job_1\n"})
}
