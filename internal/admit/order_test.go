package admit

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/telemetry"
)

var telemetryNames = telemetry.Names{Tenants: []string{"search"}, Models: []string{"fast"}}

// tags makes so many tags.
func tags(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint("tag", i)] = "value"
	}
	return m
}

func inferences(customIDs ...string) []dialect.Inference {
	var list []dialect.Inference
	for _, id := range customIDs {
		list = append(list, dialect.Inference{CustomID: id, Object: body.Object{Text: []byte("{}")}})
	}
	return list
}

// orders are orders at their bounds and just beyond.
var orders = []struct {
	name  string
	edit  func(*JobOrder)
	param string // of the invalid_request, "" when the order is good
}{
	{"no model", func(o *JobOrder) { o.Model = "" }, "model"},
	{"unknown endpoint", func(o *JobOrder) { o.Endpoint = "/v1/images" }, "endpoint"},
	{"unknown lane", func(o *JobOrder) { o.Lane = "express" }, "lane"},

	{"deadline now", func(o *JobOrder) { o.Deadline = now }, "deadline"},
	{"deadline in the past", func(o *JobOrder) { o.Deadline = now.Add(-time.Hour) }, "deadline"},
	{"shortest deadline", func(o *JobOrder) { o.Deadline = now.Add(time.Microsecond) }, ""},
	{"longest deadline", func(o *JobOrder) { o.Deadline = now.Add(MaxDeadline) }, ""},
	{"deadline too far", func(o *JobOrder) { o.Deadline = now.Add(MaxDeadline + time.Microsecond) }, "deadline"},
	{"deadline in another zone", func(o *JobOrder) { o.Deadline = now.Add(time.Hour).In(time.FixedZone("x", 9*3600)) }, ""},
	{"deadline beyond all durations", func(o *JobOrder) { o.Deadline = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }, "deadline"},

	{"negative attempts", func(o *JobOrder) { o.MaxAttempts = -1 }, "max_attempts"},
	{"one attempt", func(o *JobOrder) { o.MaxAttempts = 1 }, ""},
	{"most attempts", func(o *JobOrder) { o.MaxAttempts = MaxAttempts }, ""},
	{"too many attempts", func(o *JobOrder) { o.MaxAttempts = MaxAttempts + 1 }, "max_attempts"},

	{"negative timeout", func(o *JobOrder) { o.ItemTimeout = -1 }, "item_timeout"},
	{"timeout too short", func(o *JobOrder) { o.ItemTimeout = MinItemTimeout - 1 }, "item_timeout"},
	{"shortest timeout", func(o *JobOrder) { o.ItemTimeout = MinItemTimeout }, ""},
	{"longest timeout", func(o *JobOrder) { o.ItemTimeout = MaxItemTimeout }, ""},
	{"timeout too long", func(o *JobOrder) { o.ItemTimeout = MaxItemTimeout + 1 }, "item_timeout"},

	{"longest key", func(o *JobOrder) { o.IdempotencyKey = strings.Repeat("k", MaxKeyBytes) }, ""},
	{"key too long", func(o *JobOrder) { o.IdempotencyKey = strings.Repeat("k", MaxKeyBytes+1) }, "Idempotency-Key"},
	{"key with a line feed", func(o *JobOrder) { o.IdempotencyKey = "a\nb" }, "Idempotency-Key"},
	{"key with a zero byte", func(o *JobOrder) { o.IdempotencyKey = "a\x00b" }, "Idempotency-Key"},
	{"key of broken UTF-8", func(o *JobOrder) { o.IdempotencyKey = "a\xffb" }, "Idempotency-Key"},
	{"key in another script", func(o *JobOrder) { o.IdempotencyKey = "заказ 7" }, ""},

	{"most tags", func(o *JobOrder) { o.Tags = tags(MaxTags) }, ""},
	{"too many tags", func(o *JobOrder) { o.Tags = tags(MaxTags + 1) }, "tags"},
	{"longest tag", func(o *JobOrder) {
		o.Tags = map[string]string{strings.Repeat("k", MaxTagKeyBytes): strings.Repeat("v", MaxTagValueBytes)}
	}, ""},
	{"tag without a key", func(o *JobOrder) { o.Tags = map[string]string{"": "v"} }, "tags"},
	{"tag without a value", func(o *JobOrder) { o.Tags = map[string]string{"k": ""} }, ""},
	{"tag's key too long", func(o *JobOrder) { o.Tags = map[string]string{strings.Repeat("k", MaxTagKeyBytes+1): "v"} }, "tags"},
	{"tag's value too long", func(o *JobOrder) { o.Tags = map[string]string{"k": strings.Repeat("v", MaxTagValueBytes+1)} }, "tags"},

	{"longest custom_id", func(o *JobOrder) { o.Inferences = inferences(strings.Repeat("c", MaxCustomIDBytes)) }, ""},
	{"custom_id too long", func(o *JobOrder) { o.Inferences = inferences("a", strings.Repeat("c", MaxCustomIDBytes+1)) }, "inputs[1].custom_id"},
	{"custom_id twice", func(o *JobOrder) { o.Inferences = inferences("a", "b", "", "a") }, "inputs[3].custom_id"},
	{"custom_id with a zero byte", func(o *JobOrder) { o.Inferences = inferences("a\x00") }, "inputs[0].custom_id"},
	{"custom_id of broken UTF-8", func(o *JobOrder) { o.Inferences = inferences("a\xff") }, "inputs[0].custom_id"},
	{"no custom_id, twice", func(o *JobOrder) { o.Inferences = inferences("", "") }, ""},
	{"custom_ids that differ in case", func(o *JobOrder) { o.Inferences = inferences("a", "A") }, ""},
}

func TestBoundsOfAnOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range orders {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, o := newRig(t), order()
			tt.edit(&o)
			_, err := r.Job(t.Context(), r.caller, o)
			if tt.param == "" {
				if err != nil || len(r.store.got) != 1 {
					t.Errorf("refused: %v", err)
				}
				return
			}
			e := penstock.AsError(err)
			if e.Code != penstock.CodeInvalidRequest || e.Param != tt.param || len(r.store.got) != 0 {
				t.Errorf("got %+v and %d submits; want invalid_request for %s and none", e, len(r.store.got), tt.param)
			}
			if e.Message == "" || len(e.Message) > 400 || !utf8.ValidString(e.Message) {
				t.Errorf("message %q", e.Message)
			}
		})
	}
}

func TestLanesOfATenant(t *testing.T) {
	t.Parallel()
	for _, allowed := range penstock.Lanes {
		for _, asked := range penstock.Lanes {
			r, o := newRig(t), order()
			r.caller.Tenant.Lanes = []penstock.Lane{allowed}
			o.Lane = asked
			_, err := r.Job(t.Context(), r.caller, o)
			if allowed == asked {
				if err != nil {
					t.Errorf("%s may not use its own lane: %v", allowed, err)
				}
				continue
			}
			e := penstock.AsError(err)
			if e.Code != penstock.CodeInvalidRequest || e.Param != "lane" || !strings.Contains(e.Message, string(allowed)) {
				t.Errorf("a tenant with %s asked for %s: %+v", allowed, asked, e)
			}
		}
	}
}

func TestDefaultLaneMustBeAllowedToo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.caller.Tenant.Lanes = []penstock.Lane{penstock.LaneBulk}
	_, err := r.Job(t.Context(), r.caller, order())
	if e := penstock.AsError(err); e.Param != "lane" {
		t.Errorf("got %+v, want an error about the lane", e)
	}
}

// An error message quotes whole characters of the caller's text only: an answer that is not UTF-8 cannot be
// written as JSON.
func TestMessagesStayUTF8(t *testing.T) {
	t.Parallel()
	r, o := newRig(t), order()
	o.Tags = map[string]string{"a" + strings.Repeat("é", MaxTagKeyBytes): "v"}
	_, err := r.Job(t.Context(), r.caller, o)
	if e := penstock.AsError(err); !utf8.ValidString(e.Message) {
		t.Errorf("message %q", e.Message)
	}
}

// Text that PostgreSQL cannot store is refused here, with its parameter, and does not become an internal error.
func TestUnprintableTagsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tag := range []map[string]string{{"a": "b\x00"}, {"a\x00": "b"}, {"a": "\xff"}} {
		r, o := newRig(t), order()
		o.Tags = tag
		_, err := r.Job(t.Context(), r.caller, o)
		if e := penstock.AsError(err); err == nil || e.Param != "tags" {
			t.Errorf("%q: %v", tag, err)
		}
	}
}

func TestJobWithoutInferences(t *testing.T) {
	t.Parallel()
	r, o := newRig(t), order()
	o.Inferences = nil
	if _, err := r.Job(t.Context(), r.caller, o); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
		t.Errorf("got %v, want invalid_request", err)
	}
}

// The deadline is checked and stored with one reading of the clock.
func TestDeadlineIsJudgedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ticks := 0
	r.Clock = func() time.Time { ticks++; return now.Add(time.Duration(ticks) * time.Second) }
	if sub := r.admit(order()); sub.DeadlineIn != DefaultDeadline {
		t.Errorf("default deadline is stored as %v", sub.DeadlineIn)
	}
}

func TestIdempotencyLastsAsConfigured(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(f *config.File) { f.Retention.Idempotency = 48 * time.Hour })
	o := order()
	o.IdempotencyKey, o.BodyHash = "once", []byte{1, 2, 3}
	if key := r.admit(o).Idempotency; key == nil || key.Key != "once" || string(key.BodyHash) != "\x01\x02\x03" || key.TTL != 48*time.Hour {
		t.Errorf("key %+v", key)
	}
	if key := r.admit(order()).Idempotency; key != nil {
		t.Errorf("without a key: %+v", key)
	}
}

// An order that was accepted gets the same answer again, even if it would be refused by now.
func TestKeyOutlivesItsDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	late := order()
	late.Deadline, late.IdempotencyKey, late.BodyHash = now.Add(-time.Hour), "once", []byte("hash")
	if _, err := r.Job(t.Context(), r.caller, late); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
		t.Errorf("a late order with a new key: %v, want invalid_request", err)
	}
	r.store.keyed = map[string]penstock.Job{"once/hash": {ID: "earlier"}}
	receipt, err := r.Job(t.Context(), r.caller, late)
	if err != nil || !receipt.Replayed || receipt.Job.ID != "earlier" {
		t.Errorf("a late order that was accepted before: %+v, %v; want the earlier job", receipt, err)
	}
}
