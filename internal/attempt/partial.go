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
	// attachmentTokens is the size of a common picture in tokens. It does not depend on the bytes.
	attachmentTokens = 1024
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
		used.InputTokens = t.weigh().tokens
	}
	used.OutputTokens = max(used.OutputTokens, penstock.InputTokens(t.textBytes))
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

// weight is the part of the bodies that is needed when their answer is over.
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

// dropBodies drops the bodies once the answer to a streamed task has begun. A plain answer is over by then.
func (c *Run) dropBodies(t *try) {
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
