package attempt

import (
	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
	"penstock/internal/route"
)

const (
	// attachmentBytes is the length from which on text without a gap is no language: base64 of a picture or a
	// document.
	attachmentBytes = 1024
	// attachmentTokens is what a picture of common size comes to. Its bytes say nothing about that.
	attachmentTokens = 1024
)

// usage is what an attempt used. Upstreams of chat completions tell it at the end of a stream, which
// never comes when the caller leaves or the connection breaks; some tell it never. What they left out is
// estimated once an answer has begun, since they charge for it: the input by its length, the output by
// the text that arrived. UsageKnown stays false, and the rest of the bound is forfeit. What broke on our
// side is forfeit whole: nobody pays for our defects.
func (t *try) usage(meta *provider.Meta, failure *provider.Error) penstock.Usage {
	used := meta.Usage
	ours := failure != nil && failure.Kind == provider.KindInternal
	if meta.UsageKnown || !(t.begun || t.blocked) || ours || t.upstreamRequest.endpoint == penstock.EndpointCountTokens {
		return used
	}
	if used.InputTokens == 0 {
		used.InputTokens = t.weigh().tokens
	}
	used.OutputTokens = max(used.OutputTokens, penstock.InputTokens(t.said))
	return used
}

// estimateInput is how many tokens a body is likely to be: a token for each four bytes, but a bounded
// number for what is attached to it.
//
// Every stream is estimated when it begins, so it looks at few bytes: what is attached is so long that it cannot
// lie between two looks.
func estimateInput(body []byte) int64 {
	text, attachments := len(body), int64(0)
	for at := attachmentBytes - 1; at < len(body); at += attachmentBytes {
		start, end := at, at
		for end < len(body) && isBase64(body[end]) {
			end++
		}
		for end > at && start > 0 && isBase64(body[start-1]) {
			start--
		}
		if end-start >= attachmentBytes {
			text -= end - start
			attachments++
		}
		at = end
	}
	return penstock.InputTokens(int64(text)) + attachments*attachmentTokens
}

func isBase64(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return b == '+' || b == '/' || b == '=' || b == '-' || b == '_'
}

// weight is what has to be known of bodies when their answer is over.
type weight struct {
	tokens int64 // of what was sent, by its length
	images int64 // 0 where nobody charges for them
	most   int64 // the most that the input can have used, see checkUsage
}

func (t *try) weigh() weight {
	if t.weight != nil {
		return *t.weight
	}
	w := weight{tokens: estimateInput(t.upstreamRequest.body), most: mostInput(t.upstreamRequest.body)}
	if t.target.ChargesImages() {
		w.images = body.Images(t.task.Body)
	}
	return w
}

// lighten lets go of what is not needed once the answer to a task has begun. A plain one is over by then.
func (c *Run) lighten(t *try) {
	if !c.task.Stream {
		return
	}
	t.weight = new(t.weigh())
	t.upstreamRequest.body, t.upstreamRequest.object = nil, nil
	for _, task := range []*Task{c.task, t.task} { // a bounded one may be a copy
		task.Body, task.Inference = nil, nil
	}
	c.query = route.Query{}
}
