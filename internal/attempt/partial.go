package attempt

import (
	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// usage is the usage of an attempt. Upstreams of chat completions report it at the end of a stream, which does not arrive when the
// caller leaves or the connection breaks; some never report it. Once an answer has begun, the upstream charges for it. So the missing
// part is estimated: the input by its length, the output by the text that arrived. UsageKnown stays false, and the rest of the bound
// is forfeit. After a defect of Penstock nothing is estimated.
func (t *try) usage(meta *provider.Meta, failure *provider.Error) penstock.Usage {
	used := meta.Usage
	ours := failure != nil && failure.Kind == provider.KindInternal
	if meta.UsageKnown || !(t.begun || t.blocked) || ours || t.task.Endpoint == penstock.EndpointCountTokens {
		return used
	}
	if used.InputTokens == 0 {
		used.InputTokens = t.weigh().tokens * t.calls() / max(1, t.request.Parts.Calls)
	}
	used.OutputTokens = max(used.OutputTokens, penstock.InputTokens(t.textBytes))
	return used
}

// weight is the part of the bodies that is needed when their answer is over.
type weight struct {
	tokens int64 // of the input of all calls, by its length
	images int64 // 0 where nobody charges for them
	most   int64 // the most that the input can have used, see checkUsage
}

func (t *try) weigh() weight {
	if t.weight != nil {
		return *t.weight
	}
	text, times := t.request.Parts.Input(t.request.Body)
	w := weight{tokens: times * dialect.LikelyInput(text, t.task.ranking()), most: t.mostInput()}
	if t.target.ChargesImages() {
		w.images = body.Images(t.task.Body)
	}
	return w
}

// dropBodies drops the bodies once the answer to a streamed task has begun. A plain answer is over by then.
func (c *Run) dropBodies(t *try) {
	if !c.task.Stream {
		return
	}
	t.weight = new(t.weigh())
	t.request.DropBody()
	for _, task := range []*Task{c.task, t.task} { // a bounded one may be a copy
		task.Body, task.Inference = nil, nil
	}
	c.query = route.Query{}
}
