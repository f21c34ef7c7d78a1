package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/dialect"
	"penstock/internal/dialect/line"
	"penstock/internal/request"
	"penstock/internal/rest"
)

// trialView is the predicted outcome of a job.
type trialView struct {
	Object            string            `json:"object"`
	DryRun            bool              `json:"dry_run"`
	Admitted          bool              `json:"admitted" about:"Whether it would be accepted now."`
	Refusal           *rest.ErrorBody   `json:"refusal" about:"The error that a submit would get; null if it would be accepted."`
	Endpoint          penstock.Endpoint `json:"endpoint"`
	Model             string            `json:"model"`
	Lane              penstock.Lane     `json:"lane"`
	Items             int               `json:"items"`
	Target            *string           `json:"target" about:"The target of the estimate: the one that would be called now."`
	Estimate          trialEstimateView `json:"estimate"`
	AtMost            trialBoundView    `json:"at_most" about:"The amount that would be reserved: the most that one attempt at each item can use. For a job over a file, this assumes that no line asks for more than defaults."`
	Deadline          time.Time         `json:"deadline"`
	EstimatedStartAt  *time.Time        `json:"estimated_start_at" about:"null if it would not be accepted, or while that is unknown."`
	EstimatedFinishAt *time.Time        `json:"estimated_finish_at" about:"By the current state of the queue; null if it would not be accepted, or while that is unknown."`
	WaitingOn         *penstock.Reason  `json:"waiting_on" about:"budget: it would be accepted, but the budget has too little left for all of it. paused: an operator paused it."`
	Warnings          []string          `json:"warnings"`
}

// trialEstimateView is the estimated use of a job.
type trialEstimateView struct {
	InputTokens  int64   `json:"input_tokens" about:"Counted by the embedded tokenizer; of many or long inputs a sample is counted."`
	OutputTokens int64   `json:"output_tokens" about:"By the average length of the target's answers, or by the inputs' own bound if that is less."`
	CostUSD      *string `json:"cost_usd" about:"null when the target has no price."`
}

// trialBoundView is the most that a job can use.
type trialBoundView struct {
	Tokens  int64  `json:"tokens"`
	CostUSD string `json:"cost_usd"`
}

// The bounds of the sample: counting 5 MiB takes a core about a second.
const (
	maxSample      = 256
	maxSampleBytes = 1 << 20
	// sampleStep is how many lines of a file are read at each position.
	sampleStep = 16
)

// tryJob answers a dry run: it predicts the outcome of a job, and stores nothing.
func (c trials) tryJob(order admit.JobOrder) error {
	trial, err := c.Admit.Try(c.R.Context(), c.Principal, order)
	if err != nil {
		return err
	}
	sample, err := c.sample(c.R.Context(), order)
	if err != nil {
		return err
	}
	view := trialView{
		Object: "job.dry_run", DryRun: true, Admitted: trial.Refusal == nil, Endpoint: trial.Endpoint, Model: trial.Model, Lane: trial.Lane,
		Items: trial.Items, Deadline: trial.Deadline, EstimatedStartAt: optional(trial.When.Start), EstimatedFinishAt: optional(trial.When.Finish),
		AtMost: trialBoundView{trial.Most.Tokens, trial.Most.Cost.String()}, Warnings: append([]string{}, trial.Warnings...),
	}
	switch {
	case trial.Refusal != nil:
		refusal, _ := c.ErrorBody(penstock.AsError(trial.Refusal))
		view.Refusal = &refusal
	case trial.Short != "":
		view.WaitingOn = new(penstock.WaitingOnBudget)
		view.Warnings = append(view.Warnings, trial.Short)
	case trial.Held:
		view.WaitingOn = new(penstock.WaitingOnPaused)
	}
	if len(trial.Unpaid) > 0 {
		view.Warnings = append(view.Warnings, "the budget has too little left for the targets "+strings.Join(trial.Unpaid, ", ")+": the job would run on the other targets of its model")
	}
	if err := c.estimateTrial(trial, sample, &view); err != nil {
		return err
	}
	setBudgetWarning(c.W.Header(), trial.Warnings)
	return c.JSON(http.StatusOK, view)
}

func names(targets []*penstock.Target) []string {
	all := make([]string, len(targets))
	for i := range targets {
		all[i] = targets[i].Name
	}
	return all
}

// estimateTrial fills in the estimated use and cost of a job.
func (c trials) estimateTrial(trial admit.Trial, sample []dialect.Inference, view *trialView) error {
	target, usual, err := c.likelyTarget(trial, sample)
	if err != nil || target == nil {
		return err
	}
	likely := extrapolate(&c.tokens, sample, usual).times(trial)
	view.Target = &target.Name
	view.Estimate = trialEstimateView{InputTokens: likely.Usage.InputTokens, OutputTokens: likely.Usage.OutputTokens}
	if !target.Unpriced {
		price, _ := target.PriceAt(c.Clock())
		cost := price.Charge(likely).String()
		view.Estimate.CostUSD = &cost
		if target.PriceSource != "" {
			view.Warnings = append(view.Warnings, fmt.Sprintf("the price of target %s comes from the %s", target.Name, target.PriceSource))
		}
	} else {
		view.Warnings = append(view.Warnings, fmt.Sprintf("target %s has no price: its cost is unknown", target.Name))
	}
	return nil
}

// likelyTarget is the target that would be called for an input like the first, and the average length of its answers. If
// none can be called now, it is the first in the order of the policy.
func (c trials) likelyTarget(trial admit.Trial, sample []dialect.Inference) (*penstock.Target, int64, error) {
	if len(trial.Targets) == 0 || len(sample) == 0 {
		return nil, 0, nil
	}
	e, err := c.Requests.Explain(request.Question{
		Model: trial.Model, Lane: trial.Lane, Targets: names(trial.Targets), Endpoint: trial.Endpoint, Body: sample[0].Body(), MaxOutputTokens: sample[0].MaxOutputTokens,
	})
	if err != nil {
		return nil, 0, err
	}
	chosen := 0
	for i, t := range e.Targets {
		if t.Target == e.Chosen || e.Chosen == "" && t.Place == 1 {
			chosen = i
		}
	}
	if len(e.Targets) == 0 {
		return nil, 0, nil
	}
	for i := range trial.Targets {
		if trial.Targets[i].Name == e.Targets[chosen].Target {
			return trial.Targets[i], e.Targets[chosen].Output, nil
		}
	}
	return nil, 0, nil
}

// counter counts the tokens of a body.
type counter interface{ Body(body []byte) int64 }

// sampled is the estimated use of some inputs of a job together.
type sampled struct {
	penstock.Charge
	inputs, bytes int64
}

// extrapolate counts a sample; answers have the average length, or the inputs' bound if that is less.
func extrapolate(count counter, sample []dialect.Inference, usual int64) sampled {
	var s sampled
	for _, inf := range sample {
		output := usual
		if inf.MaxOutputTokens > 0 {
			output = min(output, inf.MaxOutputTokens)
		}
		if inf.Silent {
			output = 0
		}
		s.Usage.InputTokens += count.Body(inf.Body()) + penstock.InputTokens(inf.Ranking.Repeated())
		s.Usage.OutputTokens += output * max(inf.Choices, 1)
		s.Images += inf.Object.Images()
		s.Searches += penstock.SearchUnits(inf.Ranking.Documents)
		s.inputs++
		s.bytes += int64(len(inf.Body()))
	}
	return s
}

// times scales a sample to all inputs of a job: input tokens by bytes, the rest by the number of inputs.
func (s sampled) times(t admit.Trial) penstock.Charge {
	items := int64(t.Items)
	part := func(n, all, of int64) int64 {
		if of == 0 || s.inputs == items { // it is the whole job
			return n
		}
		return int64(float64(n) * float64(all) / float64(of))
	}
	return penstock.Charge{
		Usage: penstock.Usage{InputTokens: part(s.Usage.InputTokens, t.Bytes, s.bytes), OutputTokens: part(s.Usage.OutputTokens, items, s.inputs)},
		Calls: items, Images: part(s.Images, items, s.inputs), Searches: part(s.Searches, items, s.inputs), Lane: t.Lane,
	}
}

// sample picks inputs of a job that are evenly spread over it, all of them if they are few.
func (c trials) sample(ctx context.Context, o admit.JobOrder) ([]dialect.Inference, error) {
	if o.Lines != nil {
		return c.sampleLines(ctx, o)
	}
	step := (len(o.Inferences) + maxSample - 1) / maxSample
	var sample []dialect.Inference
	bytes := 0
	for i := 0; i < len(o.Inferences); i += step {
		if bytes += len(o.Inferences[i].Body()); bytes > maxSampleBytes && len(sample) > 0 {
			break
		}
		sample = append(sample, o.Inferences[i])
	}
	return sample, nil
}

// sampleLines reads some lines at each of a few positions in a file. Invalid lines use nothing.
func (c trials) sampleLines(ctx context.Context, o admit.JobOrder) (sample []dialect.Inference, err error) {
	form, err := line.FormOf(penstock.Job{Endpoint: o.Endpoint, Model: o.Model}, o.Lines.Batch.Defaults)
	if err != nil {
		return nil, err
	}
	file, err := c.Files.Open(ctx, c.Principal.Tenant.ID, o.Lines.File.ID)
	if err != nil {
		return nil, err
	}
	lines, bytes := o.Lines.File.Lines, 0
	step := max(sampleStep, lines*sampleStep/maxSample)
	for at := 0; at < lines && bytes < maxSampleBytes; at += step {
		read := 0
		for l, err := range file.Lines(ctx, at) {
			if err != nil {
				return nil, err
			}
			inf, bad := form.Line(line.Line{CustomID: l.CustomID, Endpoint: l.Endpoint, Body: l.Body}, c.Config.Current().Process.Limits.MaxBodyBytes)
			if bad == nil {
				sample = append(sample, inf)
			}
			bytes += len(l.Body)
			if read++; read == sampleStep {
				break
			}
		}
	}
	return sample, nil
}
