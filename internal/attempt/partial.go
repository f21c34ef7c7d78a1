package attempt

import (
	"penstock"
	"penstock/internal/provider"
	"penstock/internal/room"
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
func (t *try) usage(meta provider.Meta, failure *provider.Error) penstock.Usage {
	used := meta.Usage
	ours := failure != nil && failure.Kind == provider.KindInternal
	if meta.UsageKnown || !t.begun || ours || t.letter.endpoint == penstock.EndpointCountTokens {
		return used
	}
	if used.InputTokens == 0 {
		used.InputTokens = estimateInput(t.letter.body)
	}
	used.OutputTokens = max(used.OutputTokens, room.InputTokens(t.said))
	return used
}

// estimateInput is how many tokens a body is likely to be: a token for each four bytes, but a bounded
// number for what is attached to it.
func estimateInput(body []byte) int64 {
	var text, attachments, run int64
	end := func() {
		if run >= attachmentBytes {
			attachments++
		} else {
			text += run
		}
		run = 0
	}
	for _, b := range body {
		if isBase64(b) {
			run++
			continue
		}
		end()
		text++
	}
	end()
	return room.InputTokens(text) + attachments*attachmentTokens
}

func isBase64(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return b == '+' || b == '/' || b == '=' || b == '-' || b == '_'
}
