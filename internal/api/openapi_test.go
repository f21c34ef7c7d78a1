package api

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"penstock"
	"penstock/internal/admin"
	"penstock/internal/config"
	"penstock/internal/dialect/anthropic"
	"penstock/internal/dialect/line"
	"penstock/internal/dialect/openai"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/usage"
)

var update = flag.Bool("update", false, "rewrite the files that tests compare with")

// openAPI returns the document as text and as the JSON value that a client would read.
func openAPI(t *testing.T) ([]byte, map[string]any) {
	t.Helper()
	text, err := rest.OpenAPI(0, surfaces()...)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return text, value.(map[string]any)
}

// described returns the document as it is built, before it becomes text.
func described(t *testing.T) rest.Document {
	t.Helper()
	doc, err := rest.NewDocument(0, surfaces()...)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestOpenAPIIsDeterministic(t *testing.T) {
	t.Parallel()
	first, _ := openAPI(t)
	for range 5 {
		if again, _ := openAPI(t); !bytes.Equal(first, again) {
			t.Fatal("the same source gave two documents")
		}
	}
}

func TestOpenAPIHoldsTheRouteTable(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, surface := range surfaces() {
		for _, rt := range surface.Routes {
			if !rt.Hidden {
				want = append(want, rt.Method+" "+strings.Replace(rt.Path, "...", "", 1))
			}
		}
	}
	ids := map[string]string{}
	doc := described(t)
	doc.Operations(func(path, method string, op rest.Operation) {
		name := strings.ToUpper(method) + " " + path
		got = append(got, name)
		if other, taken := ids[op.ID]; taken {
			t.Errorf("%s and %s are both called %s", other, name, op.ID)
		}
		ids[op.ID] = name
	})
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the document and the route table differ (-table +document):\n%s", diff)
	}
}

// The parts of the standard's structure that the Go types alone do not guarantee.
func TestOpenAPIStructure(t *testing.T) {
	t.Parallel()
	doc := described(t)
	if doc.OpenAPI != "3.1.0" || doc.Info.Title == "" || doc.Info.Version != penstock.Version {
		t.Errorf("the head of the document is %q %+v", doc.OpenAPI, doc.Info)
	}
	wildcard := regexp.MustCompile(`\{([^}]*)\}`)
	doc.Operations(func(path, method string, op rest.Operation) {
		var want, got []string
		for _, m := range wildcard.FindAllStringSubmatch(path, -1) {
			want = append(want, m[1])
		}
		seen := map[string]bool{}
		for _, p := range op.Parameters {
			if p.In == "path" {
				got = append(got, p.Name)
			}
			if !slices.Contains([]string{"path", "query", "header"}, p.In) || p.In == "path" && !p.Required || p.Description == "" {
				t.Errorf("%s: parameter %+v is not well-formed", op.ID, p)
			}
			if seen[p.In+p.Name] {
				t.Errorf("%s: parameter %s is declared twice", op.ID, p.Name)
			}
			seen[p.In+p.Name] = true
		}
		if !slices.Equal(want, got) {
			t.Errorf("%s: path %s has the wildcards %q, but %q are declared", op.ID, path, want, got)
		}
		if method == "get" && op.RequestBody != nil {
			t.Errorf("%s: a GET has no body", op.ID)
		}
		checkResponses(t, op)
	})
}

func checkResponses(t *testing.T, op rest.Operation) {
	t.Helper()
	successes := 0
	for _, r := range op.Responses {
		switch status, err := strconv.Atoi(r.Name); {
		case r.Name == "default" && r.Value.Ref == "#/components/responses/Error":
		case err == nil && status >= 200 && status < 300 && r.Value.Description != "" && len(r.Value.Content) > 0:
			successes++
		default:
			t.Errorf("%s: response %s is not well-formed: %+v", op.ID, r.Name, r.Value)
		}
	}
	if successes == 0 || len(op.Responses) != successes+1 {
		t.Errorf("%s: wants at least one success and the shared error, has %d responses", op.ID, len(op.Responses))
	}
}

func TestOpenAPITagsAreTheOnesInUse(t *testing.T) {
	t.Parallel()
	used, about := map[string]bool{}, map[string]bool{}
	doc := described(t)
	doc.Operations(func(_, _ string, op rest.Operation) { used[op.Tags[0]] = true })
	for _, tag := range doc.Tags {
		about[tag.Name] = true
	}
	if diff := cmp.Diff(used, about); diff != "" {
		t.Errorf("aboutTags differs from what routes need (-used +described):\n%s", diff)
	}
}

func TestOpenAPIParamTypesAreInUse(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, rt := range routes {
		for _, p := range rt.Params {
			used[p.Name] = true
		}
	}
	for name := range paramTypes {
		if !used[name] {
			t.Errorf("paramTypes names %q, which no route takes", name)
		}
	}
}

func TestOpenAPIReferencesResolve(t *testing.T) {
	t.Parallel()
	_, doc := openAPI(t)
	used := map[string]bool{}
	walk("", doc, func(_ jsontext.Pointer, object map[string]any) {
		ref, ok := object["$ref"].(string)
		if !ok {
			return
		}
		used[ref] = true
		var at any = doc
		for token := range jsontext.Pointer(strings.TrimPrefix(ref, "#")).Tokens() {
			object, _ := at.(map[string]any)
			at = object[token]
		}
		if at == nil {
			t.Errorf("%s points nowhere", ref)
		}
	})
	for name := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		if !used["#/components/schemas/"+name] {
			t.Errorf("nothing refers to the schema %s", name)
		}
	}
}

// walk calls do for every object inside a JSON value, with the pointer that leads to it.
func walk(pointer jsontext.Pointer, value any, do func(jsontext.Pointer, map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		do(pointer, v)
		for name, inner := range v {
			walk(pointer.AppendToken(name), inner, do)
		}
	case []any:
		for i, inner := range v {
			walk(pointer.AppendToken(strconv.Itoa(i)), inner, do)
		}
	}
}

const schemasAt = jsontext.Pointer("/components/schemas")

// closed forbids what the document does not describe. Published schemas of answers are open, since
// answers may grow in later versions; closing them finds fields that are written but not described.
func closed(doc map[string]any) map[string]any {
	for _, named := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		if object := named.(map[string]any); object["properties"] != nil {
			object["additionalProperties"] = false
		}
	}
	return doc
}

// schemaCompiler compiles the schemas of a document.
func schemaCompiler(t *testing.T, doc map[string]any) func(jsontext.Pointer) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return func(at jsontext.Pointer) *jsonschema.Schema {
		compiled, err := c.Compile("openapi.json#" + (&url.URL{Path: string(at)}).EscapedPath())
		if err != nil {
			t.Fatal(err)
		}
		return compiled
	}
}

func validate(s *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

func TestOpenAPISchemasCompile(t *testing.T) {
	t.Parallel()
	_, doc := openAPI(t)
	compile := schemaCompiler(t, doc)
	compiled := 0
	walk("", doc, func(at jsontext.Pointer, object map[string]any) {
		if _, ok := object["schema"]; ok || at.Parent() == schemasAt {
			if ok {
				at = at.AppendToken("schema")
			}
			compile(at)
			compiled++
		}
	})
	if compiled < len(routes) {
		t.Errorf("only %d schemas were found in a document of %d routes", compiled, len(routes))
	}
}

// sampleTime is the moment at which the samples below happen.
var sampleTime = time.Date(2026, 11, 15, 6, 0, 0, 123456789, time.UTC)

// sampleViews makes every view twice: from a value with everything in it, and from one with nothing in
// it but what is always there.
func sampleViews() []any {
	var ids penstock.IDs
	id := ids.New(sampleTime)
	usage := penstock.Usage{InputTokens: 12, CachedInputTokens: 3, OutputTokens: 9}
	bareJob := penstock.Job{ID: id, Endpoint: penstock.EndpointChat, Lane: penstock.LaneBulk, Counts: penstock.Counts{Total: 1, Queued: 1}}
	fullJob := bareJob
	fullJob.Counts, fullJob.Tags = penstock.Counts{Total: 2, Succeeded: 1, Cancelled: 1}, map[string]string{"team": "search"}
	fullJob.Usage, fullJob.Cost = usage, 41_200
	fullJob.Resolved = penstock.Resolved{Config: "cfg_9f2c", Model: "fast", Policy: "ordered", Targets: []string{"openai-mini"}}
	fullJob.CreatedAt, fullJob.StartedAt, fullJob.FinishedAt = sampleTime, sampleTime, sampleTime
	fullJob.Deadline, fullJob.CancelRequestedAt = sampleTime, sampleTime

	bareItem := penstock.Item{ID: penstock.ItemID(id, 0), Job: id, Status: penstock.StatusQueued}
	succeeded := penstock.Item{
		ID: penstock.ItemID(id, 1), Job: id, Index: 1, CustomID: "row-1", Status: penstock.StatusSucceeded, Seq: 18, Attempts: 1,
		Target: "openai-mini", StatusCode: 200, Result: []byte(`{"id":"x","choices":[]}`), Usage: usage, Cost: 1<<63 - 1, FinishedAt: sampleTime,
	}
	failed := penstock.Item{
		ID: penstock.ItemID(id, 2), Job: id, Status: penstock.StatusFailed, Seq: 19, FinishedAt: sampleTime,
		Error: &penstock.ItemError{Code: penstock.CodePoison, Message: "It ended three workers."},
	}
	attempts := []penstock.Attempt{{ID: id}, {
		ID: id, Subject: id, Number: 2, Target: "openai-mini", Reason: "first with capacity", Config: "cfg_9f2c",
		ErrorKind: "timeout", ErrorMessage: "Too slow.", StatusCode: 504, Usage: usage, UsageKnown: true, Cost: 1,
		StartedAt: sampleTime, FirstTokenAt: sampleTime, FinishedAt: sampleTime,
	}}
	fullRequest := penstock.Request{
		ID: id, Endpoint: penstock.EndpointChat, Model: "fast", Stream: true, Status: penstock.StatusFailed, StatusCode: 502,
		ErrorCode: penstock.CodeUpstreamError, Error: "It broke.", Target: "openai-mini", Usage: usage, Cost: 7, Forfeit: 9, Attempts: attempts,
		StartedAt: sampleTime, FirstTokenAt: sampleTime, FinishedAt: sampleTime,
	}
	deadLetter := store.DeadLetter{
		Item: succeeded.ID, Job: id, Model: "fast", Code: penstock.CodeUpstreamTimeout, Kind: "timeout", Message: "Too slow.",
		Fingerprint: "f1", CreatedAt: sampleTime,
	}
	withResult, result := newJobView(fullJob), newResultView(succeeded)
	withResult.Result = &result
	return []any{
		newJobView(bareJob), withResult,
		rest.CursorPage[jobView]{Object: "list"}, rest.CursorPage[jobView]{Object: "list", Data: []jobView{withResult}, HasMore: true},
		newResultView(bareItem), result, newResultView(failed),
		itemView{resultView: newResultView(bareItem), Object: "item"},
		itemView{resultView: result, Object: "item", JobID: "job_1", History: newAttemptViews(attempts)},
		newEventView(fullJob.Event(penstock.EventJobFinished)), sampleDelta(id, penstock.EventItemDelta), sampleDelta(id, penstock.EventItemReset),
		newEventView(penstock.Event{Job: id, Seq: 19, Type: penstock.ItemEvent(failed.Status), Item: &failed, CreatedAt: sampleTime}),
		newRequestView(penstock.Request{ID: id, Endpoint: penstock.EndpointChat, Status: penstock.StatusSucceeded}), newRequestView(fullRequest),
		rest.CursorPage[deadLetterView]{Object: "list"},
		rest.CursorPage[deadLetterView]{Object: "list", Data: []deadLetterView{
			newDeadLetterView(deadLetter), newDeadLetterView(store.DeadLetter{Code: penstock.CodeCancelled}),
		}},
		rest.CursorPage[deadLetterGroupView]{Object: "list"},
		rest.CursorPage[deadLetterGroupView]{Object: "list", Data: []deadLetterGroupView{
			newDeadLetterGroupView(store.DeadLetterGroup{Fingerprint: "f1", Count: 2, Model: "fast", FirstAt: sampleTime, LastAt: sampleTime, Sample: deadLetter}),
			newDeadLetterGroupView(store.DeadLetterGroup{Sample: store.DeadLetter{Code: penstock.CodePoison}}),
		}, HasMore: true},
		deadLetterRetriedView{Object: "dead_letter_retry", DryRun: true},
		deadLetterRetriedView{Object: "dead_letter_retry", Jobs: []retriedJobView{{JobID: text("job_2"), RetryOf: "job_1", Items: 3}}, Items: 3, Remaining: 1,
			Skipped: []skippedJobView{{JobID: "job_3", Items: 1, Error: penstock.ItemError{Code: penstock.CodeModelNotFound, Message: "Gone."}}}},
		deadLetterDismissedView{Object: "dead_letter_dismissal", DryRun: true, Items: 2, Remaining: 1},
		openai.NewModelList(nil), openai.NewModelList([]string{"fast", "smart"}), openai.NewModel("fast"),
		anthropic.NewModelPage(nil, anthropic.Page{}), anthropic.NewModelPage([]string{"fast", "smart"}, anthropic.Page{Limit: 1}),
		anthropic.NewModelInfo("fast"), anthropic.TokenCount{InputTokens: 7}, healthView{Status: "ok"}, storageView{Object: "storage", UsedBytes: 3, JobBytes: 1, FileBytes: 2, LimitBytes: new(int64(9))}, storageView{Object: "storage"},
		explainView{Object: "model.explanation", Model: "fast", Policy: penstock.PolicyCheapest, Chosen: text("a"), Reason: "why", Targets: []explainTargetView{
			{Target: "a", Place: new(1), CostUSD: text("0.000000100"), LatencyMS: new(int64(120)), Quality: new(0.5), Headroom: new(1.0),
				Score: &explainScoreView{Total: 1, Cost: 1, Latency: 1}},
			{Target: "b", Excluded: text("lacks vision"), NoCapacity: text("is full")}}},
		healthView{Status: "degraded", Reason: text("The disk is nearly full.")}, deletedView{ID: "job_1", Object: "job", Deleted: true},
		sampleWebhook(), sampleDelivery(), rest.Page[webhookView]{Data: []webhookView{sampleWebhook()}}, rest.CursorPage[deliveryView]{Data: []deliveryView{sampleDelivery()}}, secretView{},
	}
}

// fileSamples are views of files.
func fileSamples() []any {
	const id penstock.ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	sampleFile := store.File{
		ID: id, Purpose: store.PurposeBatch, Name: "rows.jsonl", Bytes: 12, Lines: 2, ErrorCount: 2, CreatedAt: sampleTime, ExpiresAt: sampleTime,
		Errors: []store.LineError{{Line: 1, Code: "missing_body", Message: "body is missing.", Param: "body"}, {Line: 2, Code: "empty_line", Message: "The line is empty."}},
	}
	return []any{
		newFileView(store.File{ID: id, Purpose: store.PurposeBatchOutput, CreatedAt: sampleTime}), newFileView(sampleFile),
		filePageView{Object: "list", Data: []fileView{}},
		filePageView{Object: "list", Data: []fileView{newFileView(sampleFile)}, FirstID: text("file_1"), LastID: text("file_1"), HasMore: true},
		rest.CursorPage[listedItemView]{Object: "list", Data: []listedItemView{{ID: "item_1", resultView: newResultView(penstock.Item{Status: penstock.StatusQueued}), Object: "item", JobID: "job_1"}}},
		newBatchView(sampleBatch()), newBatchView(store.Batch{ID: "01JQ0000000000000000000000", Endpoint: penstock.EndpointChat, Errors: []store.LineError{{Line: 2, Code: "x", Message: "X."}}, DoneAt: sampleTime}),
		batchPageView{Object: "list", Data: []batchView{newBatchView(sampleBatch())}},
		sampleMessageBatch(), messageBatchPageView{Data: []messageBatchView{sampleMessageBatch()}},
		messageBatchDeletedView{"msgbatch_1", "message_batch_deleted"},
		line.NewMessageBatchLine(penstock.Item{CustomID: "a", Status: penstock.StatusFailed, Error: &penstock.ItemError{Code: penstock.CodePoison, Message: "X."}}),
		line.NewMessageBatchLine(penstock.Item{CustomID: "a", Status: penstock.StatusSucceeded, Result: []byte(`{}`)}),
		linkView{Object: "file.url", URL: "http://127.0.0.1/v1/download/acme/file_1?expires=1&sig=x", ExpiresAt: 1},
	}
}

func deprecationSamples() []any {
	word := "x"
	return []any{
		rest.Page[rest.DeprecationView]{Object: "list", Data: []rest.DeprecationView{{
			Object: "deprecation", Kind: "field", Version: &word, Method: &word, Path: &word, Field: &word, Replacement: &word, DeprecatedAt: sampleTime, SunsetAt: sampleTime,
		}}},
		rest.Page[rest.DeprecationView]{Object: "list", Data: []rest.DeprecationView{{Object: "deprecation", Kind: "version"}}},
	}
}

func sampleBatch() store.Batch {
	return store.Batch{
		ID: "01JQ0000000000000000000000", File: "01JQ0000000000000000000001", Endpoint: penstock.EndpointChat, Output: "01JQ0000000000000000000002",
		ErrorOutput: "01JQ0000000000000000000003", Metadata: map[string]string{"team": "search"}, CreatedAt: sampleTime, DoneAt: sampleTime,
		Job: penstock.Job{Model: "fast", CreatedAt: sampleTime, StartedAt: sampleTime, FinishedAt: sampleTime, Deadline: sampleTime.Add(24 * time.Hour),
			Counts: penstock.Counts{Total: 2, Succeeded: 1, Failed: 1}, Usage: penstock.Usage{InputTokens: 3, OutputTokens: 4}},
	}
}

func sampleMessageBatch() messageBatchView {
	s := &Server{Deps: Deps{Config: config.NewLive(&config.Snapshot{})}}
	return messageBatches{&call{Server: s, Call: rest.Call{R: httptest.NewRequest(http.MethodGet, "/", nil)}}}.messageBatchView(sampleBatch())
}

func usageSamples() []any {
	word := "x"
	return []any{
		usage.Report{Object: "usage", From: "2026-11-01", To: "2026-11-15", GroupBy: []usage.By{}, Data: []usage.Line{}},
		usage.Report{Object: "usage", From: "2026-11-01", To: "2026-11-15", GroupBy: []usage.By{usage.ByModel, "tag:team"}, Data: []usage.Line{
			{Sum: usage.Sum{Requests: 1, Cost: 3}},
			{Tenant: &word, Key: &word, Model: &word, Lane: &word, Day: &word, Tags: map[string]string{"team": "search"}},
		}},
	}
}

func sampleWebhook() webhookView {
	return newWebhookView(penstock.Webhook{
		ID: "01JQ0000000000000000000000", URL: "https://app.example/hook", Events: penstock.WebhookEvents, DisabledAt: sampleTime,
		DisabledReason: "the receiver answered 410 Gone", Failures: 1, FailingSince: sampleTime, CreatedAt: sampleTime, UpdatedAt: sampleTime,
	})
}

func trialSamples() []any {
	return []any{
		retryTrialView{Object: "job_retry.dry_run", DryRun: true, RetryOf: "job_1", Items: 2, AtMost: trialBoundView{100, "0.000000100"}},
		trialView{Object: "job.dry_run", DryRun: true, Endpoint: penstock.EndpointChat, Lane: penstock.LaneBulk, Refusal: &rest.ErrorBody{Code: penstock.CodeRateLimited}, Deadline: sampleTime, Warnings: []string{}},
		trialView{Object: "job.dry_run", DryRun: true, Endpoint: penstock.EndpointChat, Lane: penstock.LaneBulk, Admitted: true, Items: 2, Target: text("a"), Estimate: trialEstimateView{CostUSD: text("0.000000100")},
			Deadline: sampleTime, EstimatedStartAt: &sampleTime, EstimatedFinishAt: &sampleTime, WaitingOn: new(penstock.WaitingOnBudget), Warnings: []string{"soon"}},
	}
}

func sampleDelivery() deliveryView {
	return newDeliveryView(penstock.Delivery{
		ID: "01JQ0000000000000000000000", Webhook: "01JQ0000000000000000000001", Event: "01JQ0000000000000000000002", Type: penstock.EventWebhookTest,
		URL: "https://app.example/hook", Status: penstock.DeliveryPending, Attempts: 2, NextAt: sampleTime, CreatedAt: sampleTime,
		Tries: []penstock.DeliveryTry{{At: sampleTime, StatusCode: 500, Error: "answered 500"}, {At: sampleTime, Error: "no answer within 15s"}},
	})
}

func TestOpenAPIDescribesAnswers(t *testing.T) {
	t.Parallel()
	_, doc := openAPI(t)
	compile := schemaCompiler(t, closed(doc))
	sampled := sampledElsewhere()
	for i, view := range slices.Concat(sampleViews(), requestSamples(), trialSamples(), fileSamples(), mediaSamples(), usageSamples(), deprecationSamples(), conversationSamples(), authSamples(), liveSamples(), reportSamples(), listSamples(), promptSamples(), playgroundSamples()) {
		name := rest.SchemaName(reflect.TypeOf(view))
		compiled := compile(schemasAt.AppendToken(name)) // here: a compiler serves one goroutine
		sampled[reflect.TypeOf(view)] = true
		t.Run(fmt.Sprintf("%02d_%s", i, name), func(t *testing.T) {
			t.Parallel()
			for _, text := range encodings(t, view) {
				if err := validate(compiled, text); err != nil {
					t.Errorf("%#v\nof %s", err, text)
				}
			}
		})
	}
	for _, rt := range routes {
		for _, a := range rt.Answers {
			if a.Body != nil && !sampled[reflect.TypeOf(a.Body)] {
				t.Errorf("%s %s answers with a %T, of which there is no sample here", rt.Method, rt.Path, a.Body)
			}
		}
	}
}

// newTestCall is a call that is answered into a recorder.
func newTestCall() (*call, *httptest.ResponseRecorder) {
	to := httptest.NewRecorder()
	s := &Server{Deps: Deps{Log: slog.New(slog.DiscardHandler)}}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	s.table, _ = rest.New(rest.Config{Shapes: shapes, Realm: "penstock", Log: s.Log})
	return &call{Server: s, Call: rest.NewCall(s.table, to, r)}, to
}

func sampleDelta(job penstock.ID, typ penstock.EventType) eventView {
	return newEventView(penstock.Event{Job: job, Seq: 3, Type: typ, Delta: &penstock.Delta{Item: job, Attempt: 1, Data: []byte("Hi")}})
}

// encodings are the texts that the server sends for a view, in every form that it sends it.
func encodings(t *testing.T, view any) [][]byte {
	t.Helper()
	c, to := newTestCall()
	if err := c.JSON(http.StatusOK, view); err != nil {
		t.Fatal(err)
	}
	texts := [][]byte{to.Body.Bytes()}
	switch v := view.(type) {
	case eventView:
		c, to := newTestCall()
		stream := newEventStream(c)
		err := stream.send(v)
		stream.stop()
		_, data, ok := bytes.Cut(to.Body.Bytes(), []byte("\ndata: "))
		if err != nil || !ok {
			t.Fatalf("sending an event gave %v and %q", err, to.Body)
		}
		texts = append(texts, data)
	}
	return texts
}

func TestOpenAPIDescribesErrors(t *testing.T) {
	t.Parallel()
	_, doc := openAPI(t)
	envelope := schemaCompiler(t, closed(doc))(schemasAt.AppendToken("Error"))
	about := described(t).Components.Responses[0].Value.Description
	for _, code := range penstock.Codes {
		for _, e := range []*penstock.Error{
			penstock.Errorf(code, "It went wrong."),
			{Code: code, Message: "It went wrong.", Param: "inputs[3].body", RetryAfter: 12 * time.Second},
		} {
			c, to := newTestCall()
			c.Fail(e)
			if err := validate(envelope, to.Body.Bytes()); err != nil {
				t.Errorf("%#v\nof %s", err, to.Body)
			}
			line := regexp.MustCompile(fmt.Sprintf("(?m)^- %d: .*`%s`", to.Code, code))
			if !line.MatchString(about) {
				t.Errorf("%s answers %d, but the document says\n%s", code, to.Code, about)
			}
		}
	}
}

func TestOpenAPIDescribesJobCreate(t *testing.T) {
	t.Parallel()
	_, doc := openAPI(t)
	jobCreateSchema := schemaCompiler(t, doc)(schemasAt.AppendToken("JobCreate"))
	for name, text := range map[string]string{
		"smallest": `{"model":"fast","input":"Hi"}`,
		"body":     `{"model":"fast","input":{"messages":[]}}`,
		"everything": `{"endpoint":"/v1/chat/completions","model":"fast","lane":"bulk","defaults":{"max_tokens":200},
			"inputs":[{"custom_id":"row-1","body":{"messages":[]}},{"body":{"anything":{"goes":[1]}}}],"deadline":"2026-11-16T06:00:00Z",
			"max_attempts":4,"item_timeout":"1m30s","stream":false,"dry_run":false,"tags":{"team":"search"},"input_file":null,"webhook":null}`,
		"nulls": `{"model":"fast","input":"Hi","max_attempts":null,"item_timeout":null}`,
	} {
		if err := validate(jobCreateSchema, []byte(text)); err != nil {
			t.Errorf("%s: the schema refuses what the server takes: %#v", name, err)
		}
		var in jobCreate
		if err := rest.Decode([]byte(text), &in); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if _, err := in.order(config.Limits{MaxBodyBytes: 1 << 20, MaxJobBytes: 1 << 20}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"unknown field":           `{"model":"fast","input":"Hi","modle":"x"}`,
		"unknown field of inputs": `{"model":"fast","inputs":[{"body":{},"costum_id":"x"}]}`,
		"other case":              `{"model":"fast","input":"Hi","Lane":"bulk"}`,
		"number for a string":     `{"model":1,"input":"Hi"}`,
		"string for a number":     `{"model":"fast","input":"Hi","max_attempts":"4"}`,
		"fraction":                `{"model":"fast","input":"Hi","max_attempts":1.5}`,
		"number for a duration":   `{"model":"fast","input":"Hi","item_timeout":60}`,
		"duration without unit":   `{"model":"fast","input":"Hi","item_timeout":"60"}`,
		"no time":                 `{"model":"fast","input":"Hi","deadline":"tomorrow"}`,
		"tag that is no string":   `{"model":"fast","input":"Hi","tags":{"team":1}}`,
		"not an object":           `["fast"]`,
	} {
		if validate(jobCreateSchema, []byte(text)) == nil {
			t.Errorf("%s: the schema takes what the server refuses", name)
		}
		if rest.Decode([]byte(text), &jobCreate{}) == nil {
			t.Errorf("%s: the server takes it", name)
		}
	}
	for name, text := range map[string]string{ // what the stages behind the envelope refuse
		"no body":          `{"model":"fast","inputs":[{"custom_id":"x"}]}`,
		"unknown lane":     `{"model":"fast","input":"Hi","lane":"express"}`,
		"unknown endpoint": `{"model":"fast","input":"Hi","endpoint":"/v1/other"}`,
	} {
		if validate(jobCreateSchema, []byte(text)) == nil {
			t.Errorf("%s: the schema takes what admission refuses", name)
		}
	}
}

// constantsOf adds the typed string constants of a directory's sources, by the name of their type.
func constantsOf(t *testing.T, dir string, into map[string][]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			named, isNamed := spec.Type.(*ast.Ident)
			literal, isLiteral := spec.Values[0].(*ast.BasicLit)
			if isNamed && isLiteral && literal.Kind == token.STRING {
				value, _ := strconv.Unquote(literal.Value)
				into[named.Name] = append(into[named.Name], value)
			}
			return true
		})
	}
}

// A type that the generator does not understand is an error: a guess would become a promise to callers.
func TestOpenAPIRefusesToGuess(t *testing.T) {
	t.Parallel()
	type untagged struct{ Name string }
	type quoted struct {
		N int `json:"n,string"`
	}
	type channel struct {
		C chan int `json:"c"`
	}
	type binary struct {
		B []byte `json:"b"`
	}
	type pointing struct{ *untagged }
	type Job struct{}
	for name, table := range map[string][]rest.Route{
		"field without a name":    {{Body: untagged{}}},
		"embedded pointer":        {{Body: pointing{}}},
		"option it does not know": {{Body: quoted{}}},
		"kind it does not know":   {{Body: channel{}}},
		"bytes":                   {{Body: binary{}}},
		"type with its own form":  {{Body: []slog.Level{}}},
		"struct without a name":   {{Body: struct{}{}}},
		"names that are numbers":  {{Body: map[int]string{}}},
		"two types of one name":   {{Body: Job{}}, {Answers: []rest.Answer{{Body: jobView{}}}}},
		"one type in both ways":   {{Body: jobView{}}, {Answers: []rest.Answer{{Body: jobView{}}}}},
	} {
		if _, err := rest.NewDocument(0, rest.Surface{Routes: table, Enums: enums()}); err == nil {
			t.Errorf("%s: it was described", name)
		}
	}
}

func TestOpenAPIDocsAreCurrent(t *testing.T) {
	t.Parallel()
	documents, err := rest.NewDocuments(surfaces()...)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"openapi.json": documents[0], "README.md": []byte(reference(described(t)))}
	for i, text := range documents[1:] {
		files["openapi-"+rest.Versions[i+1].Name+".json"] = text
	}
	for name, want := range files {
		path := filepath.Join("..", "..", "docs", "api", name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("docs/api/%s is stale; run go test ./internal/api -run OpenAPI -update (-want +got):\n%s", name, diff)
		}
	}
}

// reference renders the document for people to read.
func reference(doc rest.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The API of %s\n\nMade from the route table of `internal/api` by\n", doc.Info.Title)
	b.WriteString("`go test ./internal/api -run OpenAPI -update`; [openapi.json](openapi.json) says the same to machines.\n\n")
	fmt.Fprintf(&b, "%s\n\nA call carries its key in one of these headers:\n\n", doc.Info.Description)
	for _, scheme := range doc.Components.SecuritySchemes {
		fmt.Fprintf(&b, "- `%s`\n", scheme.Value.Description)
	}
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", tag.Name, tag.Description)
		doc.Operations(func(path, method string, op rest.Operation) {
			if op.Tags[0] == tag.Name {
				fmt.Fprintf(&b, "\n### %s %s\n\n", strings.ToUpper(method), path)
				writeOperation(&b, op)
			}
		})
	}
	failure := doc.Components.Responses[0].Value
	fmt.Fprintf(&b, "\n## Errors\n\n%s\n\n| header | |\n|---|---|\n", failure.Description)
	for _, h := range failure.Headers {
		fmt.Fprintf(&b, "| `%s` | %s |\n", h.Name, cell(h.Value.Description))
	}
	fmt.Fprintf(&b, "\nBody: %s.\n\n## Schemas\n", typeText(*failure.Content[0].Value.Schema))
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		fmt.Fprintf(&b, "\n### %s\n\n", name)
		writeSchema(&b, doc.Components.Schemas[name])
	}
	return b.String()
}

func writeOperation(b *strings.Builder, op rest.Operation) {
	fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(op.Summary+". "+op.Description))
	if len(op.Parameters) > 0 {
		b.WriteString("| parameter | in | type | |\n|---|---|---|---|\n")
		for _, p := range op.Parameters {
			about := p.Description
			if p.Required {
				about = "Required. " + about
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.In, typeText(p.Schema), cell(about))
		}
		b.WriteByte('\n')
	}
	if op.RequestBody != nil {
		fmt.Fprintf(b, "Body: %s.\n\n", typeText(*op.RequestBody.Content[0].Value.Schema))
	}
	b.WriteString("| answer | type | body | |\n|---|---|---|---|\n")
	for _, r := range op.Responses {
		for _, m := range r.Value.Content {
			body := ""
			if m.Value.Schema != nil {
				body = typeText(*m.Value.Schema)
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.Name, m.Name, body, cell(r.Value.Description))
		}
		if r.Value.Ref != "" {
			fmt.Fprintf(b, "| otherwise | %s | [Error](#error) | See [errors](#errors). |\n", rest.TypeJSON)
		}
	}
	for _, h := range op.Responses[0].Value.Headers {
		if h.Name != "x-request-id" { // every answer has it
			fmt.Fprintf(b, "\nHeader `%s` of the answer: %s\n", h.Name, h.Value.Description)
		}
	}
}

func writeSchema(b *strings.Builder, s rest.Schema) {
	if len(s.Enum) > 0 {
		fmt.Fprintf(b, "One of `%s`.\n", strings.Join(s.Enum, "`, `"))
		return
	}
	if s.AdditionalProperties == false {
		b.WriteString("Other fields are rejected.\n\n")
	}
	b.WriteString("| field | type | |\n|---|---|---|\n")
	for _, p := range s.Properties {
		about := cell(p.Value.Description)
		if s.AdditionalProperties == false && slices.Contains(s.Required, p.Name) {
			about = strings.TrimSpace("Required. " + about)
		}
		if p.Value.Deprecated {
			about = strings.TrimSpace("Deprecated. " + about)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, typeText(p.Value), about)
	}
}

// typeText names a schema in a few words.
func typeText(s rest.Schema) string {
	name, _ := s.Type.(string)
	switch types, _ := s.Type.([]string); {
	case s.Ref != "":
		name = s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	case s.AnyOf != nil:
		return typeText(s.AnyOf[0]) + " or null"
	case types != nil:
		s.Type = types[0]
		return typeText(s) + " or null"
	case s.Items != nil:
		return "array of " + typeText(*s.Items)
	case s.AdditionalProperties != nil:
		return "object of " + typeText(s.AdditionalProperties.(rest.Schema))
	case s.Format == "date-time":
		return "time"
	case len(s.Examples) > 0:
		return fmt.Sprintf("%s (`%s`)", name, s.Examples[0])
	case name == "":
		return "any JSON"
	}
	return name
}

// cell makes text fit into a table.
func cell(s string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s) }

// surfaces are the described APIs: those of both listeners.
func surfaces() []rest.Surface { return []rest.Surface{Surface(), admin.Surface()} }
