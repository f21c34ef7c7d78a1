package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// hook is a message as it arrived.
type hook struct {
	body   []byte
	header http.Header
}

// receiver trusts what the SDKs verify and nothing else.
type receiver struct {
	*httptest.Server
	arrived chan hook
}

func receive() *receiver {
	r := &receiver{arrived: make(chan hook, 16)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		r.arrived <- hook{body, request.Header}
	}))
	return r
}

func (r *receiver) next(ctx context.Context) (hook, error) {
	select {
	case h := <-r.arrived:
		return h, nil
	case <-ctx.Done():
		return hook{}, fmt.Errorf("no webhook came: %w", ctx.Err())
	}
}

// verified is what both SDKs make of a message.
func (h hook) verified(secret string) object {
	seen := object{"openai": "refused", "anthropic": "refused"}
	one := openai.NewClient()
	if event, err := one.Webhooks.Unwrap(h.body, h.header, option.WithWebhookSecret(secret)); err == nil {
		seen["openai"] = event.Type
	}
	other := anthropic.NewClient()
	if event, err := other.Beta.Webhooks.Unwrap(h.body, h.header, anthropicoption.WithWebhookKey(secret)); err == nil {
		seen["anthropic"] = event.Type
	}
	return seen
}

// told is what a message says, once it is verified, and whether it is about the job behind id.
func (h hook) told(secret, id string) (object, error) {
	var event struct {
		JobID string `json:"job_id"`
		Data  struct{ Status, Outcome string }
	}
	seen := h.verified(secret)
	if err := json.Unmarshal(h.body, &event); err != nil {
		return nil, err
	}
	seen["status"], seen["outcome"], seen["same_id"] = event.Data.Status, event.Data.Outcome, bare(event.JobID) == bare(id)
	return seen, nil
}

// bare is an id without what says which view it is of.
func bare(id string) string {
	_, id, _ = strings.Cut(id, "_")
	return id
}

// endpoint is a webhook as the native API has it.
type endpoint struct{ ID, Secret string }

func native(ctx context.Context, path, body string) (e endpoint, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("PENSTOCK_URL")+path, strings.NewReader(body))
	if err != nil {
		return e, err
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("PENSTOCK_API_KEY"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return e, err
	}
	defer resp.Body.Close()
	return e, json.NewDecoder(resp.Body).Decode(&e)
}

// webhooks are told of the end of a response in the background, of a batch with a failure while the secret is being
// rotated, of a message batch that is cancelled, and of a response and a message batch that expire.
func webhooks(ctx context.Context) (any, error) {
	r := receive()
	defer r.Close()
	e, err := native(ctx, "/v1/webhooks", `{"url":"`+r.URL+`/hook","events":["job.finished"]}`)
	if err != nil {
		return nil, err
	}
	client := openai.NewClient()
	response, err := client.Responses.New(ctx, inBackground("Hi by webhook"))
	if err != nil {
		return nil, err
	}
	ended, err := r.next(ctx)
	if err != nil {
		return nil, err
	}
	first, err := ended.told(e.Secret, response.ID)
	if err != nil {
		return nil, err
	}
	forged := hook{bytes.Replace(ended.body, []byte("succeeded"), []byte("failed"), 1), ended.header}
	stale := hook{ended.body, ended.header.Clone()}
	stale.header.Set("webhook-timestamp", "1700000000")

	rotated, err := native(ctx, "/v1/webhooks/"+e.ID+"/rotate", "")
	if err != nil {
		return nil, err
	}
	mixed, batch, err := r.batch(ctx, client)
	if err != nil {
		return nil, err
	}
	second, err := mixed.told(e.Secret, batch)
	if err != nil {
		return nil, err
	}
	third, err := r.cancelled(ctx, rotated.Secret)
	if err != nil {
		return nil, err
	}
	fourth, fifth, err := r.expired(ctx, client, rotated.Secret)
	return object{
		"response": first, "forged": forged.verified(e.Secret), "stale": stale.verified(e.Secret),
		"batch": second, "rotated": mixed.verified(rotated.Secret), "message_batch": third, "expired": fourth, "message_batch_expired": fifth,
	}, err
}

// expired is what is told of a response and of a message batch whose windows close.
func (r *receiver) expired(ctx context.Context, client openai.Client, secret string) (response, messages object, err error) {
	const window = "1s"
	late, err := client.Responses.New(ctx, inBackground("Hi, too late [sim:fault=hang]"), option.WithHeader("x-penstock-window", window))
	if err != nil {
		return nil, nil, err
	}
	h, err := r.next(ctx)
	if err == nil {
		response, err = h.told(secret, late.ID)
	}
	if err != nil {
		return nil, nil, err
	}
	other := anthropic.NewClient()
	batch, err := other.Messages.Batches.New(ctx, anthropic.MessageBatchNewParams{
		Requests: []anthropic.MessageBatchNewParamsRequest{messageRequest("late", "sim", "Go hook late [sim:fault=hang]")},
	}, anthropicoption.WithHeader("x-penstock-window", window))
	if err != nil {
		return nil, nil, err
	}
	if h, err = r.next(ctx); err == nil {
		messages, err = h.told(secret, batch.ID)
	}
	return response, messages, err
}

// batch is what is told of a batch with a failure among its lines.
func (r *receiver) batch(ctx context.Context, client openai.Client) (hook, string, error) {
	file, err := upload(ctx, client, "hook.jsonl", row("good", "Go hook good [sim:tokens=3]")+row("bad", "Go hook bad [sim:fault=bad_request]"))
	if err != nil {
		return hook{}, "", err
	}
	batch, err := client.Batches.New(ctx, openai.BatchNewParams{
		InputFileID: file.ID, Endpoint: openai.BatchNewParamsEndpointV1ChatCompletions, CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
	})
	if err != nil {
		return hook{}, "", err
	}
	h, err := r.next(ctx)
	return h, batch.ID, err
}

// cancelled is what is told of a message batch that is cancelled.
func (r *receiver) cancelled(ctx context.Context, secret string) (object, error) {
	client := anthropic.NewClient()
	batch, err := client.Messages.Batches.New(ctx, anthropic.MessageBatchNewParams{Requests: []anthropic.MessageBatchNewParamsRequest{
		{CustomID: "slow", Params: anthropic.MessageBatchNewParamsRequestParams{Model: "sim", MaxTokens: 16,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Go hook slow [sim:fault=hang]"))}}},
	}})
	if err != nil {
		return nil, err
	}
	if _, err := client.Messages.Batches.Cancel(ctx, batch.ID, anthropic.MessageBatchCancelParams{}); err != nil {
		return nil, err
	}
	h, err := r.next(ctx)
	if err != nil {
		return nil, err
	}
	return h.told(secret, batch.ID)
}
