package dialect

import "time"

// Upstream is the target that a body is translated for.
type Upstream struct {
	// MaxOutputTokens is the bound of the answer where the upstream requires one and the body sets none: the tokens that were
	// reserved for the call.
	MaxOutputTokens int64
	// Origin names the provider and the model. Reasoning that they sealed is given back to them alone. "" for none.
	Origin string
}

// Asked has the parts of a call that the form of its answer depends on.
type Asked struct {
	// Model is the name that the caller knows the model by.
	Model string
	// Stream: the caller wants events.
	Stream bool
	// IncludeUsage: the stream of a chat completion ends with a chunk of usage. Plain answers and messages
	// always have usage.
	IncludeUsage bool
	// At is when the call arrived. A chat completion has it as created, a message does not have it.
	At time.Time
	// ID is the id of the call, which ids of a response and of its items are made of: some upstreams repeat their own ids.
	ID string
	// Origin is that of the target: see Upstream.
	Origin string
	// Body is the caller's. It is valid until the answer is closed; that of a stream only until Answer returns.
	Body []byte
}

// Created is when the call arrived, in seconds; 0 if that is not known.
func (a Asked) Created() int64 {
	if a.At.IsZero() {
		return 0
	}
	return a.At.Unix()
}
