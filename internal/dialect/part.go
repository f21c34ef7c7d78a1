package dialect

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
)

// MaxCalls is how many calls upstream one inference may take.
const MaxCalls = MaxChoices

// asked is how many answers a body asks for, in the caller's words.
type asked struct {
	each    int64 // choices for each prompt
	prompts int64
}

// asked reads how many answers are asked for. Other members that some servers obey are not understood by servers that give one answer.
func (inf *Inference) asked() asked {
	a := asked{1, 1}
	if inf.Format != nil && inf.Format.Endpoint != penstock.EndpointChat && inf.Format.Endpoint != penstock.EndpointCompletions {
		return a
	}
	if n, err := inf.Object.Count("n"); err == nil {
		a.each = min(max(n, 1), MaxChoices) // more is refused
	}
	if prompt := inf.Object.Raw("prompt"); len(prompt) > 0 && prompt[0] == '[' {
		a.prompts = min(body.Prompts(prompt), MaxPrompts)
	}
	return a
}

// Parts are the calls upstream that an inference takes on a target that gives one answer at a time.
type Parts struct {
	Calls int64 // 1 for an inference that the target serves with one call
	Each  int64 // choices in the answer to each call

	object    body.Object
	repeats   int64 // calls for each prompt
	perPrompt bool  // a call has one prompt
}

// Parts divides an inference for a target. Codes: invalid_request.
func (inf *Inference) Parts(t *penstock.Target) (Parts, error) {
	if !t.OneChoice && !t.OnePrompt {
		return Parts{Calls: 1}, nil // nearly all
	}
	wanted := inf.asked()
	p := wanted.parts(t)
	if p.object = inf.Object; p.Calls == 1 {
		return p, nil
	}
	const one = "The target that this call goes to gives one answer for each call, and Penstock "
	if p.Calls > MaxCalls {
		return p, penstock.InvalidParam("n", one+"makes at most %d calls for a request: ask for fewer choices or prompts at once.", MaxCalls)
	}
	if best, err := inf.Object.Count("best_of"); err == nil && best > wanted.each && p.repeats > 1 {
		return p, penstock.InvalidParam("best_of", one+"cannot choose the best of several: leave out best_of.")
	}
	return p, nil
}

// parts divides a call, whether or not the target can serve it.
func (a asked) parts(t *penstock.Target) Parts {
	p := Parts{Each: a.each, repeats: 1}
	if t.OneChoice {
		p.Each, p.repeats = 1, a.each
	}
	p.Calls = p.repeats
	if p.perPrompt = t.OnePrompt && a.prompts > 1; p.perPrompt {
		p.Calls *= a.prompts
	} else {
		p.Each *= a.prompts
	}
	return p
}

// Varied reports whether the bodies of the calls differ.
func (p Parts) Varied() bool { return p.perPrompt || p.object.Value("seed").Found() }

// Input is the input of all calls together: a text, and how many times the text is sent. First is the body of the first call.
func (p Parts) Input(first []byte) (text []byte, times int64) {
	if p.perPrompt { // the prompts differ in length
		return p.object.Text, p.repeats
	}
	return first, max(1, p.Calls)
}

// Body is the body of a call, from 0: one prompt and one choice of those that the inference asks for. Calls with the same seed would
// have the same answer, so each has the next one.
func (p Parts) Body(call int64) []byte {
	o := p.object
	var edits []body.Edit
	if p.repeats > 1 {
		edits = append(edits, o.Replace("n", "1"))
		if seed, err := strconv.ParseInt(string(o.Raw("seed")), 10, 64); err == nil && seed < 1<<53 && call%p.repeats > 0 {
			edits = append(edits, o.Replace("seed", strconv.FormatInt(seed+call%p.repeats, 10)))
		}
	}
	if p.perPrompt {
		edits = append(edits, o.Replace("prompt", string(element(o.Raw("prompt"), call/p.repeats))))
	}
	return body.Apply(o.Text, edits...)
}

// element is an element of a list, null if the list is shorter.
func element(list []byte, at int64) []byte {
	dec := jsontext.NewDecoder(bytes.NewReader(list), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return []byte("null")
	}
	for range at {
		if dec.SkipValue() != nil {
			return []byte("null")
		}
	}
	value, err := dec.ReadValue()
	if err != nil {
		return []byte("null")
	}
	return bytes.Clone(value)
}
