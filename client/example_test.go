package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"penstock"
	"penstock/client"
)

// Submit one question and wait for its answer.
func Example() {
	ctx := context.Background()
	c, err := client.New(client.Config{URL: os.Getenv("PENSTOCK_URL"), APIKey: os.Getenv("PENSTOCK_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	job, err := c.SubmitJob(ctx, client.JobSpec{Model: "fast", Input: "Why is the sky blue?"})
	if err != nil {
		log.Fatal(err)
	}
	// From here on the job is safe, whatever happens to this process: WaitJob works in another one too.
	if job, err = c.WaitJob(ctx, job.ID); err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Outcome, string(job.Result.Response.Body))
}

// A nightly batch, named after its day so that running this twice submits it once.
func ExampleClient_SubmitJob() {
	c, err := client.New(client.Config{APIKey: os.Getenv("PENSTOCK_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	spec := client.JobSpec{Model: "fast", Lane: penstock.LaneBulk, Defaults: map[string]any{"max_tokens": 200}}
	for i, review := range []string{"Great!", "Broke after a day."} {
		spec.Inputs = append(spec.Inputs, client.Input{
			CustomID: fmt.Sprintf("review-%d", i),
			Body:     map[string]any{"messages": []message{{"user", "Is this review positive? " + review}}},
		})
	}
	job, err := c.SubmitJob(context.Background(), spec,
		client.IdempotencyKey("reviews-2026-11-15"), client.Wait(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.ID, job.Status, job.Replayed)
}

// Follow a job as it happens. A connection that breaks is taken up where it broke.
func ExampleClient_Events() {
	c, err := client.New(client.Config{APIKey: os.Getenv("PENSTOCK_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range c.Events(context.Background(), "job_01JQ0000000000000000000000", 0) {
		if err != nil {
			log.Fatal(err)
		}
		if event.Type == penstock.EventItemFailed {
			fmt.Println(event.Data.CustomID, event.Data.Error.Message)
		}
	}
}

// Read what is finished by now, and later only what came since.
func ExampleClient_Results() {
	c, err := client.New(client.Config{APIKey: os.Getenv("PENSTOCK_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	var filter client.ResultFilter
	for result, err := range c.Results(context.Background(), "job_01JQ0000000000000000000000", filter) {
		if err != nil {
			log.Fatal(err)
		}
		filter.After = new(result.Seq)
		var answer struct {
			Choices []struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
			} `json:"choices"`
		}
		if result.Status != penstock.StatusSucceeded {
			continue
		}
		if err := json.Unmarshal(result.Response.Body, &answer); err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.CustomID, answer.Choices[0].Message.Content)
	}
}

// The ten newest jobs that failed. Pages are read as they are needed.
func ExampleClient_ListJobs() {
	c, err := client.New(client.Config{APIKey: os.Getenv("PENSTOCK_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	left := 10
	for job, err := range c.ListJobs(context.Background(), client.JobFilter{Status: penstock.StatusFailed, PageSize: left}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(job.ID, job.Model, job.Counts.Failed)
		if left--; left == 0 {
			break
		}
	}
}

// Distinguish errors by their code.
func ExampleError() {
	c, err := client.New(client.Config{APIKey: os.Getenv("PENSTOCK_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.SubmitJob(context.Background(), client.JobSpec{Model: "no-such-model", Input: "Hi"})
	if e, ok := errors.AsType[*client.Error](err); ok && e.Code == penstock.CodeModelNotFound {
		fmt.Println("pick another model:", e.Message)
	}
}
