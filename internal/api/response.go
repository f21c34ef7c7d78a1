package api

import (
	"errors"
	"net/http"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/deliver"
	"penstock/internal/dialect/openai"
	"penstock/internal/store"
)

// A response runs as a synchronous call, and is stored behind its answer (response_keep.go). In the background, or with an
// Idempotency-Key, it runs as a job of one item: its id is the job's with another prefix, its events are the job's log in OpenAI's
// format, and it is stored as long as the job is.

// createResponse runs a response.
func (c responses) createResponse() error {
	if err := c.takePermit(); err != nil {
		return err
	}
	sent, err := c.readBody()
	if err == nil && namesPrompt(c.R.Header) {
		sent, err = withPrompt(c.R.Header, penstock.EndpointResponses, sent)
	}
	if err != nil {
		return err
	}
	options, err := openai.ReadOptions(sent)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c.R)
	if err != nil {
		return err
	}
	turn, err := c.prepare(sent, options)
	if err != nil {
		return err
	}
	turn.stored = options.Stored || !options.StoreGiven && c.Config.Current().StoreResponses == config.StoreByDefault
	switch {
	case options.Background, key != "" && (turn.stored || turn.conversation != ""):
		err = c.responseAsJob(sent, options, turn)
	case turn.stored || turn.conversation != "":
		err = c.keepResponse(turn, options)
	default:
		err = inferences(c).inferText(new(inferenceEndpoints[penstock.EndpointResponses]), turn.text)
	}
	if e, ok := errors.AsType[*penstock.Error](err); ok {
		return turn.place(e)
	}
	return err
}

// jobResponse answers with a response that runs as a job.
func (c responses) jobResponse(receipt store.Receipt, asked openai.ResponseOptions) error {
	if receipt.Replayed {
		c.W.Header().Set("Idempotency-Replayed", "true")
	}
	job := receipt.Job
	if asked.Stream {
		return c.streamResponse(job, -1)
	}
	if !asked.Background {
		var err error
		if job, err = c.wait(job.ID, deliver.Until{Timeout: keyedWait}); err != nil {
			return err
		}
		if job.Status() == penstock.StatusFailed {
			return c.whyFailed(job)
		}
	}
	return c.response(job)
}

// whyFailed is the error for a caller that waited for a stored response that failed, as for a synchronous one.
func (c responses) whyFailed(job penstock.Job) error {
	item, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, penstock.ItemID(job.ID, 0))
	if err != nil {
		return err
	}
	return penstock.Errorf(item.Error.Code, "%s", item.Error.Message)
}

// response answers with the current state of a response.
func (c responses) response(job penstock.Job) error {
	object, err := c.responseObject(job)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, object)
}
