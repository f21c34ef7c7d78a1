package penstock

import "strconv"

// MaxJobPrompts bounds the different references to prompts in the inputs of one job, or in the lines of one file.
const MaxJobPrompts = 100

// PromptUse is the version of a prompt whose messages are in an input.
type PromptUse struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
	SHA256  string `json:"sha256"`         // of the version, in hex
	Label   string `json:"label,omitzero"` // that named the version, "" if its number did
}

// String is the version as the value of a header.
func (u *PromptUse) String() string { return u.Name + "@" + strconv.FormatInt(u.Version, 10) }

// PromptPin is a reference to a prompt, with the version that it meant when the work was accepted.
type PromptPin struct {
	Written string `json:"written"` // the reference, such as support/answer@production
	PromptUse
	Every bool `json:"every,omitzero"` // every item of the job uses it
	// Items is how many items at the front of the input are the prompt's, in a job of one response. They are no part of its conversation.
	Items int64 `json:"items,omitzero"`
}

// PromptCall is the prompt of a synchronous call.
type PromptCall struct {
	PromptUse
	// Variables are sealed: the text that a caller sent is not written in the clear. They are nil if they were too large to be stored.
	Variables []byte
}
