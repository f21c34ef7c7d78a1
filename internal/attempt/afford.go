package attempt

import (
	"math"
	"slices"
	"strconv"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
)

// What a hard budget pays for may not cost more than was set aside for it, whatever changed since: prices and
// targets are live, and a caller need not say how long an answer may be.

// affordable leaves out targets on which a bounded task could cost more than was set aside.
func (r *Runner) affordable(task *Task, candidates []*penstock.Target, left *remarks) []*penstock.Target {
	if !task.Bounded {
		return candidates
	}
	now := r.Clock()
	dear := func(t *penstock.Target) bool {
		price, _ := t.PriceAt(now)
		if !t.Unpriced && price.Dearest().Charge(task.worst(t)) <= task.Bound {
			return false
		}
		left.add("%s may cost more than was set aside", t.Name)
		return true
	}
	return slices.DeleteFunc(candidates, dear)
}

// unaffordable is the error of a task that every target is too dear for by now.
func unaffordable(task *Task) error {
	return penstock.Errorf(penstock.CodeBudgetExceeded,
		"Every target of model %q may cost more by now than was set aside when this was accepted; submit it again.", task.Model)
}

// worst is the most that a target can charge for a task.
func (task *Task) worst(t *penstock.Target) penstock.Charge {
	if task.Endpoint == penstock.EndpointCountTokens {
		return penstock.Charge{} // nobody charges for it
	}
	if body.Opaque(task.Body) != "" {
		return penstock.Charge{Usage: penstock.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}, Calls: 1, Lane: task.Lane}
	}
	images := body.Images(task.Body)
	output, choices := t.MaxOutputTokens, int64(1)
	if object, err := body.Scan(task.Body); err == nil {
		if asked, ok := outputBound(task.Endpoint, object); ok {
			output = asked
		}
		further, err := provider.FurtherOf(object, provider.Further{Output: maxAsked, Added: maxAsked, Thinking: maxAsked, Answers: maxAnswers})
		if err != nil { // admission refuses it
			output = maxAsked
		}
		output, choices = further.Most(output), max(choices, further.Answers)
		if task.Endpoint == penstock.EndpointCompletions {
			choices = min(choices, maxAnswers) * min(body.Prompts(object.Raw("prompt")), maxAnswers)
		}
	}
	if task.Endpoint == penstock.EndpointEmbeddings {
		output = 0
	}
	if output > math.MaxInt64/choices {
		output, choices = math.MaxInt64, 1
	}
	return penstock.Charge{
		Usage: penstock.Usage{InputTokens: int64(len(task.Body)-task.Added) + images*body.ImageTokens, OutputTokens: output * choices},
		Calls: 1, Images: images, Lane: task.Lane,
	}
}

// maxAnswers and maxAsked keep what a body asks for a number; bodies are refused long before.
const maxAnswers, maxAsked = 1 << 20, 1 << 40

// outputBound is what the body of a call itself bounds an answer by. Members of other dialects bound nothing: an upstream
// does not know them.
func outputBound(e penstock.Endpoint, object body.Object) (most int64, ok bool) {
	for _, name := range boundNames(e) {
		if n, err := object.Count(name); err == nil && n > 0 {
			most, ok = max(most, n), true
		}
	}
	return most, ok
}

// boundNames are the members that bound the answers of an endpoint, the one to use first; none where nothing does.
func boundNames(e penstock.Endpoint) []string {
	switch e {
	case penstock.EndpointChat:
		return []string{"max_completion_tokens", "max_tokens"}
	case penstock.EndpointCompletions, penstock.EndpointMessages:
		return []string{"max_tokens"}
	case penstock.EndpointResponses:
		return []string{"max_output_tokens"}
	}
	return nil
}

// capped is a bounded task whose body bounds the answer: by what the caller said, else by what was set aside.
func (task *Task) capped(t *penstock.Target) *Task {
	if !task.Bounded {
		return task
	}
	names := boundNames(task.Endpoint)
	object, err := body.Scan(task.Body)
	if len(names) == 0 || err != nil {
		return task
	}
	if _, ok := outputBound(task.Endpoint, object); !ok {
		bounded := *task
		bounded.Body, bounded.Object = body.Apply(task.Body, object.Replace(names[0], strconv.FormatInt(t.MaxOutputTokens, 10))), nil
		return &bounded
	}
	return task
}

// clamp keeps a translation from allowing a longer answer than what it is a translation of.
func (task *Task) clamp(l *upstreamRequest) {
	if !task.Bounded || l.translation == nil {
		return
	}
	before, err := body.Scan(task.Body)
	most, ok := outputBound(task.Endpoint, before)
	after, scanErr := body.Scan(l.body)
	if err != nil || scanErr != nil || !ok {
		return
	}
	names := boundNames(l.endpoint)
	for _, name := range names {
		if n, err := after.Count(name); err == nil && n > 0 {
			if n <= most {
				return
			}
			names = []string{name} // a dialect has one of them
		}
	}
	if len(names) > 0 {
		l.body = body.Apply(l.body, after.Replace(names[0], strconv.FormatInt(most, 10)))
	}
}
