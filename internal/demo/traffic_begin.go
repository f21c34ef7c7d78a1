package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"penstock"
	"penstock/client"
)

const (
	// batchItems is the size of the batch that runs while people look: it takes a quarter of an hour.
	batchItems = 2_400
	batchFile  = "shop-texts-de.jsonl"
	// sickCalls is enough to open the breaker of the sick target.
	sickCalls = 8
)

// begin makes what every demo has at its first start, beside its past.
func (t *Traffic) begin(ctx context.Context) {
	for _, part := range []struct {
		doing string
		do    step
	}{
		{"submitting jobs that wait", t.queue},
		{"making conversations", t.converse},
		{"uploading documents", t.upload},
		{"retrying a failed job", t.retry},
		{"calling the sick target", t.fallBack},
	} {
		t.report(ctx, part.doing, part.do(ctx))
	}
}

// queue submits jobs that wait: for the paused model, and for the slow target.
func (t *Traffic) queue(ctx context.Context) error {
	if _, err := t.job(ctx, t.workloads.of("halden-legal", "clause-review"), jobOf{model: modelPaused, items: 12}); err != nil {
		return err
	}
	if _, err := t.job(ctx, t.workloads.of("lumen-shop", "product-copy"), jobOf{model: modelPaused, items: 3}); err != nil {
		return err
	}
	_, err := t.job(ctx, t.workloads.of("brightway-insurance", "policy-answer"), jobOf{model: modelSmall, items: 180}) // it shares the slow target with the batch
	return err
}

// converse makes stored responses and a conversation of several turns.
func (t *Traffic) converse(ctx context.Context) error {
	w := t.workloads.of("brightway-insurance", "claim-triage")
	text, err := t.post(ctx, w, "/v1/conversations", map[string]any{"metadata": map[string]string{"channel": "portal"}})
	if err != nil {
		return err
	}
	var made struct{ ID string }
	if err := json.Unmarshal(text, &made); err != nil {
		return fmt.Errorf("reading a conversation: %w", err)
	}
	for n := range 3 {
		body := w.body(t.draw, itemContext)
		body["model"] = modelMini
		if n < 2 {
			body["conversation"] = made.ID
		}
		if _, err := t.post(ctx, w, string(penstock.EndpointResponses), body); err != nil {
			return err
		}
	}
	background := w.body(t.draw, itemContext)
	background["background"] = true
	_, err = t.post(ctx, w, string(penstock.EndpointResponses), background)
	return err
}

// upload uploads documents that requests can name.
func (t *Traffic) upload(ctx context.Context) error {
	w := t.workloads.of("halden-legal", "contract-summary")
	c, err := t.client(w.tenant, w.key)
	if err != nil {
		return err
	}
	for i, text := range w.feature.On {
		name := fmt.Sprintf("agreement-%d.txt", 2_041+i)
		content := fmt.Sprintf(text, fmt.Sprintf("HL-%05d", 20_410+i)) + "\n"
		if _, err := (client.Files{Client: c}).Upload(ctx, client.FileUpload{Name: name, Purpose: client.PurposeUserData, Content: strings.NewReader(content)}); err != nil {
			return err
		}
	}
	return nil
}

// retry retries the newest failed job of a tenant.
func (t *Traffic) retry(ctx context.Context) error {
	c, err := t.client("halden-legal", "review-app")
	if err != nil {
		return err
	}
	for j, err := range c.ListJobs(ctx, client.JobFilter{Status: penstock.StatusFailed, PageSize: 1}) {
		if err == nil {
			_, err = c.RetryJob(ctx, j.ID, client.JobRetry{})
		}
		return err
	}
	return nil
}

// fallBack calls the model whose first target is sick, so that its breaker opens and calls fall back.
func (t *Traffic) fallBack(ctx context.Context) error {
	w := t.workloads.of("northwind-support", "mail-triage")
	for range sickCalls {
		if _, err := t.post(ctx, w, string(w.endpoint), w.body(t.draw, itemContext)); err != nil {
			return err
		}
	}
	return nil
}

// keepBatch submits a batch on the slow target, unless one runs.
func (t *Traffic) keepBatch(ctx context.Context) error {
	w := t.workloads.of("lumen-shop", "translation")
	c, err := t.client(w.tenant, w.key)
	if err != nil {
		return err
	}
	for _, status := range []penstock.Status{penstock.StatusRunning, penstock.StatusQueued} {
		for _, err := range c.ListJobs(ctx, client.JobFilter{Status: status, Model: w.model, Lane: penstock.LaneBulk, PageSize: 1}) {
			return err // there is one
		}
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for n := range batchItems {
		if err := encoder.Encode(map[string]any{
			"custom_id": fmt.Sprintf("%s-%05d", w.feature.Name, n+1), "method": "POST", "url": w.endpoint, "body": w.body(t.draw, itemContext),
		}); err != nil {
			return fmt.Errorf("encoding a line: %w", err)
		}
	}
	input, err := c.UploadFile(ctx, batchFile, &lines)
	if err != nil {
		return err
	}
	_, err = t.post(ctx, w, "/v1/batches", map[string]any{
		"input_file_id": input.ID, "endpoint": w.endpoint, "completion_window": "24h", "metadata": map[string]string{"source": batchFile},
	})
	return err
}
