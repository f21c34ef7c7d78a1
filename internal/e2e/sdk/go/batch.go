package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
)

// row is a line of a batch.
func row(id, content string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/chat/completions","body":{"model":"sim","messages":[{"role":"user","content":%q}]}}`+"\n", id, content)
}

func slowRows(format string) string {
	var b strings.Builder
	for n := range 300 {
		b.WriteString(row(fmt.Sprintf("row-%d", n), fmt.Sprintf(format, n)))
	}
	return b.String()
}

func upload(ctx context.Context, client openai.Client, name, lines string) (*openai.FileObject, error) {
	return client.Files.New(ctx, openai.FileNewParams{File: openai.File(strings.NewReader(lines), name, "application/jsonl"), Purpose: openai.FilePurposeBatch})
}

// files is the life of a file, and of one with lines that are no good.
func files(ctx context.Context) (any, error) {
	client := openai.NewClient()
	content := row("a", "Go file a") + row("b", "Go file b")
	made, err := client.Files.New(ctx, openai.FileNewParams{
		File: openai.File(strings.NewReader(content), "rows.jsonl", "application/jsonl"), Purpose: openai.FilePurposeBatch,
		ExpiresAfter: openai.FileNewParamsExpiresAfter{Seconds: 3600},
	})
	if err != nil {
		return nil, err
	}
	bad, err := upload(ctx, client, "bad.jsonl", row("a", "Go file a")+"oops\n"+row("a", "Go file a"))
	if err != nil {
		return nil, err
	}
	if _, err := client.Files.Delete(ctx, bad.ID); err != nil {
		return nil, err
	}
	found, err := client.Files.Get(ctx, made.ID)
	if err != nil {
		return nil, err
	}
	got, err := fileContent(ctx, client, made.ID)
	if err != nil {
		return nil, err
	}
	var listed []string
	pages := client.Files.ListAutoPaging(ctx, openai.FileListParams{Limit: param.NewOpt[int64](1)})
	for pages.Next() {
		listed = append(listed, pages.Current().Filename)
	}
	if err := pages.Err(); err != nil {
		return nil, err
	}
	deleted, err := client.Files.Delete(ctx, made.ID)
	if err != nil {
		return nil, err
	}
	_, gone := client.Files.Get(ctx, made.ID)
	return object{"file": object{"filename": found.Filename, "purpose": found.Purpose, "status": found.Status, "bytes": found.Bytes,
		"expires_after": found.ExpiresAt - found.CreatedAt},
		"bad":        object{"status": bad.Status, "status_details": bad.StatusDetails},
		"same_bytes": got == content, "listed": listed, "deleted": deleted.Deleted, "gone": status(gone)}, nil
}

func fileContent(ctx context.Context, client openai.Client, id string) (string, error) {
	resp, err := client.Files.Content(ctx, id)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// status is that of an error of either SDK.
func status(err error) int {
	if e := (*openai.Error)(nil); errors.As(err, &e) {
		return e.StatusCode
	}
	if e := (*anthropic.Error)(nil); errors.As(err, &e) {
		return e.StatusCode
	}
	return 0
}

// batches is the life of batches: one with a failure, one that is cancelled halfway, one whose window closes, and
// one that cannot run.
func batches(ctx context.Context) (any, error) {
	client := openai.NewClient()
	start := func(window, name, lines string) (*openai.Batch, error) {
		file, err := upload(ctx, client, name, lines)
		if err != nil {
			return nil, err
		}
		return client.Batches.New(ctx, openai.BatchNewParams{
			InputFileID: file.ID, Endpoint: openai.BatchNewParamsEndpointV1ChatCompletions, CompletionWindow: openai.BatchNewParamsCompletionWindow(window),
			Metadata: map[string]string{"team": "search"},
		})
	}
	mixed, err := start("24h", "mixed.jsonl", row("good", "Go batch good [sim:tokens=3]")+row("bad", "Go batch bad [sim:fault=bad_request]"))
	if err == nil {
		mixed, err = awaitBatch(ctx, client, mixed, openai.BatchStatusCompleted)
	}
	if err != nil {
		return nil, err
	}
	output, err := fileContent(ctx, client, mixed.OutputFileID)
	if err != nil {
		return nil, err
	}
	failures, err := fileContent(ctx, client, mixed.ErrorFileID)
	if err != nil {
		return nil, err
	}
	halfway, err := start("24h", "slow.jsonl", slowRows("Go batch slow %d [sim:latency=1s]"))
	if err == nil {
		halfway, err = awaitBatch(ctx, client, halfway, openai.BatchStatusInProgress)
	}
	if err != nil {
		return nil, err
	}
	if halfway, err = client.Batches.Cancel(ctx, halfway.ID); err == nil {
		halfway, err = awaitBatch(ctx, client, halfway, openai.BatchStatusCancelled)
	}
	if err != nil {
		return nil, err
	}
	expired, err := start("1s", "late.jsonl", slowRows("Go batch late %d [sim:latency=1s]"))
	if err == nil {
		expired, err = awaitBatch(ctx, client, expired, openai.BatchStatusExpired)
	}
	if err != nil {
		return nil, err
	}
	refused, err := start("24h", "refused.jsonl", row("a", "Go batch a")+"oops\n")
	if err != nil {
		return nil, err
	}
	var listed []openai.BatchStatus
	pages := client.Batches.ListAutoPaging(ctx, openai.BatchListParams{Limit: param.NewOpt[int64](2)})
	for pages.Next() {
		listed = append(listed, pages.Current().Status)
	}
	addsUp := func(b *openai.Batch) bool {
		return b.RequestCounts.Completed+b.RequestCounts.Failed == b.RequestCounts.Total
	}
	return object{
		"mixed":  object{"status": mixed.Status, "total": mixed.RequestCounts.Total, "completed": mixed.RequestCounts.Completed, "failed": mixed.RequestCounts.Failed, "metadata": mixed.Metadata},
		"output": strings.Count(output, `"status_code":200`), "failures": strings.Count(failures, `"custom_id":"bad"`),
		"cancelled": object{"status": halfway.Status, "adds_up": addsUp(halfway)}, "expired": object{"status": expired.Status, "adds_up": addsUp(expired)},
		"refused": object{"status": refused.Status, "line": refused.Errors.Data[0].Line, "code": refused.Errors.Data[0].Code}, "listed": listed,
	}, pages.Err()
}

func awaitBatch(ctx context.Context, client openai.Client, b *openai.Batch, want openai.BatchStatus) (*openai.Batch, error) {
	for b.Status != want {
		select {
		case <-ctx.Done():
			return b, fmt.Errorf("it is still %s: %w", b.Status, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
		var err error
		if b, err = client.Batches.Get(ctx, b.ID); err != nil {
			return b, err
		}
	}
	return b, nil
}

// messageRequest is a request of a message batch.
func messageRequest(id, model, content string) anthropic.MessageBatchNewParamsRequest {
	return anthropic.MessageBatchNewParamsRequest{CustomID: id, Params: anthropic.MessageBatchNewParamsRequestParams{
		Model: anthropic.Model(model), MaxTokens: 16, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(content))},
	}}
}

// messageBatch runs requests to their end and tells what came of them.
func messageBatch(ctx context.Context, client anthropic.Client, requests []anthropic.MessageBatchNewParamsRequest, with ...option.RequestOption) (*anthropic.MessageBatch, []object, error) {
	b, err := client.Messages.Batches.New(ctx, anthropic.MessageBatchNewParams{Requests: requests}, with...)
	if err == nil {
		b, err = awaitMessages(ctx, client, b)
	}
	if err != nil {
		return nil, nil, err
	}
	rows, err := messageResults(ctx, client, b.ID)
	return b, rows, err
}

// messageBatches is the life of message batches: one with a failure, one whose window closes, one for several models,
// and one that is cancelled halfway.
func messageBatches(ctx context.Context) (any, error) {
	client := anthropic.NewClient()
	mixed, rows, err := messageBatch(ctx, client, []anthropic.MessageBatchNewParamsRequest{
		messageRequest("good", "sim", "Go message batch good [sim:tokens=3]"), messageRequest("bad", "sim", "Go message batch bad [sim:fault=bad_request]"),
	})
	if err != nil {
		return nil, err
	}
	_, late, err := messageBatch(ctx, client, []anthropic.MessageBatchNewParamsRequest{
		messageRequest("quick", "sim", "Go message batch quick [sim:tokens=3]"), messageRequest("late", "sim", "Go message batch late [sim:fault=hang]"),
	}, option.WithHeader("x-penstock-window", "3s"))
	if err != nil {
		return nil, err
	}
	both, several, err := messageBatch(ctx, client, []anthropic.MessageBatchNewParamsRequest{
		messageRequest("one", "sim-one", "Go message batch one"), messageRequest("two", "sim-two", "Go message batch two [sim:fault=bad_request]"),
	})
	if err != nil {
		return nil, err
	}
	var many []anthropic.MessageBatchNewParamsRequest
	for n := range 300 {
		many = append(many, messageRequest(fmt.Sprintf("row-%d", n), []string{"sim-one", "sim-two"}[n%2], fmt.Sprintf("Go message batch slow %d [sim:latency=1s]", n)))
	}
	slow, err := client.Messages.Batches.New(ctx, anthropic.MessageBatchNewParams{Requests: many})
	if err != nil {
		return nil, err
	}
	if slow, err = client.Messages.Batches.Cancel(ctx, slow.ID, anthropic.MessageBatchCancelParams{}); err == nil {
		slow, err = awaitMessages(ctx, client, slow)
	}
	if err != nil {
		return nil, err
	}
	var listed []anthropic.MessageBatchProcessingStatus
	pages := client.Messages.Batches.ListAutoPaging(ctx, anthropic.MessageBatchListParams{})
	for pages.Next() {
		listed = append(listed, pages.Current().ProcessingStatus)
	}
	if err := pages.Err(); err != nil {
		return nil, err
	}
	deleted, err := client.Messages.Batches.Delete(ctx, mixed.ID, anthropic.MessageBatchDeleteParams{})
	if err != nil {
		return nil, err
	}
	_, gone := client.Messages.Batches.Get(ctx, mixed.ID, anthropic.MessageBatchGetParams{})
	c := slow.RequestCounts
	return object{
		"mixed": object{"succeeded": mixed.RequestCounts.Succeeded, "errored": mixed.RequestCounts.Errored}, "rows": rows, "late": late,
		"several":   object{"succeeded": both.RequestCounts.Succeeded, "errored": both.RequestCounts.Errored, "rows": several},
		"cancelled": object{"adds_up": c.Succeeded+c.Errored+c.Canceled+c.Expired == 300, "some": c.Canceled > 0},
		"listed":    listed, "deleted": deleted.Type, "gone": status(gone),
	}, nil
}

func awaitMessages(ctx context.Context, client anthropic.Client, b *anthropic.MessageBatch) (*anthropic.MessageBatch, error) {
	for b.ProcessingStatus != anthropic.MessageBatchProcessingStatusEnded {
		select {
		case <-ctx.Done():
			return b, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		var err error
		if b, err = client.Messages.Batches.Get(ctx, b.ID, anthropic.MessageBatchGetParams{}); err != nil {
			return b, err
		}
	}
	return b, nil
}

// messageResults are the results of a batch, by their custom ids.
func messageResults(ctx context.Context, client anthropic.Client, id string) (rows []object, err error) {
	stream := client.Messages.Batches.ResultsStreaming(ctx, id, anthropic.MessageBatchResultsParams{})
	defer stream.Close()
	for stream.Next() {
		r := stream.Current()
		seen := object{"custom_id": r.CustomID, "type": r.Result.Type}
		if r.Result.Type == "errored" {
			seen["error"] = r.Result.Error.Error.Type
		}
		rows = append(rows, seen)
	}
	return rows, stream.Err()
}
