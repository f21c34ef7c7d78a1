package overflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect/catalog"
	"penstock/internal/token"
)

// drawn is a conversation of a property test.
type drawn struct {
	endpoint penstock.Endpoint
	list     []string // the elements as they stand in the body
	last     int      // the index of the last message of the user
	text     string
	calls    int
}

func (d *drawn) add(format string, args ...any) {
	d.list = append(d.list, fmt.Sprintf(format, args...))
}

var someText = rapid.StringMatching(`[a-z]{0,8}( [a-z ]{0,300})?`)

// drawConversation draws a conversation with calls of tools, some of them answered in a later turn where the format allows that.
func drawConversation(t *rapid.T) drawn {
	d := drawn{endpoint: rapid.SampledFrom([]penstock.Endpoint{chat, messages, responses}).Draw(t, "endpoint")}
	if rapid.Bool().Draw(t, "begins with an answer") {
		d.add(`{"role":"assistant","content":%q}`, someText.Draw(t, "text"))
	}
	open := []string(nil) // calls without a result
	for range rapid.IntRange(0, 6).Draw(t, "turns") {
		d.turn(t, &open)
	}
	d.last = len(d.list)
	d.add(`{"role":"user","content":%q}`, "last "+someText.Draw(t, "text"))
	for _, id := range open {
		d.result(id)
	}
	members := []string{`"model":"m"`, `"max_tokens":9`, `"tools":[]`}
	if d.endpoint == responses {
		members = []string{`"model":"m"`, `"instructions":"be brief"`}
	}
	separator := rapid.SampledFrom([]string{",", " , ", ",\n"}).Draw(t, "separator")
	members = append(members, fmt.Sprintf(`"%s" : [ %s ]`, memberOf(d.endpoint), strings.Join(d.list, separator)))
	d.text = "{" + strings.Join(members, ",") + "}"
	return d
}

func memberOf(e penstock.Endpoint) string {
	entry, _ := catalog.Of(e)
	return entry.Conversation
}

// turn adds a turn: questions, then answers and calls of tools.
func (d *drawn) turn(t *rapid.T, open *[]string) {
	for range rapid.IntRange(1, 2).Draw(t, "questions") {
		d.add(`{"role":"user","content":%q}`, someText.Draw(t, "text"))
	}
	if d.endpoint != messages && rapid.IntRange(0, 4).Draw(t, "instruction") == 0 {
		d.add(`{"role":"developer","content":%q}`, someText.Draw(t, "text"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		d.calls++
		id := fmt.Sprintf("call_%d", d.calls)
		switch d.endpoint {
		case chat:
			d.add(`{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":"f","arguments":"{\"id\":\"call_1\"}"}}]}`, id)
		case messages:
			d.add(`{"role":"assistant","content":[{"type":"text","text":%q},{"type":"tool_use","id":%q,"name":"f","input":{"id":"call_1"}}]}`, someText.Draw(t, "text"), id)
		default:
			d.add(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":%q}`, d.calls, someText.Draw(t, "text"))
			d.add(`{"type":"function_call","id":"fc_%d","call_id":%q,"name":"f","arguments":"{}"}`, d.calls, id)
			if rapid.IntRange(0, 3).Draw(t, "late") == 0 {
				*open = append(*open, id)
				continue
			}
		}
		d.result(id)
	}
	if rapid.Bool().Draw(t, "answered") {
		d.add(`{"role":"assistant","content":%q}`, someText.Draw(t, "text"))
	}
}

func (d *drawn) result(id string) {
	switch d.endpoint {
	case chat:
		d.add(`{"role":"tool","tool_call_id":%q,"content":"found it"}`, id)
	case messages:
		d.add(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"found it"}]}`, id)
	default:
		d.add(`{"type":"function_call_output","call_id":%q,"output":"found it"}`, id)
	}
}

// TestCutKeepsItsPromises holds the rules of the package for any conversation, policy and goal.
func TestCutKeepsItsPromises(t *testing.T) {
	t.Parallel()
	var tokens token.Counter
	var cutter Cutter
	rapid.Check(t, func(t *rapid.T) {
		d := drawConversation(t)
		inf, err := catalog.Read(d.endpoint, []byte(d.text))
		if err != nil {
			t.Fatalf("%v: %s", err, d.text)
		}
		d.text = string(inf.Body()) // the readers of some formats add members
		all := tokens.Body([]byte(d.text))
		goal := rapid.Int64Range(0, all+10).Draw(t, "goal")
		order := Order{Inference: &inf, Window: Window{Goal: goal, Limit: goal}, Policy: rapid.SampledFrom(penstock.AllOnOverflow[1:]).Draw(t, "policy")}
		cut := cutter.Cut(order)
		text := inf.Body()
		if cut.Text != nil {
			text = cut.Text
		}
		kept := elementsOf(t, d.endpoint, text)
		d.checkKept(t, kept)
		d.checkRest(t, text)
		if got := tokens.Body(text); got != cut.After || cut.Before != all || Bound(inf.Object) < all {
			t.Fatalf("%d tokens of %d, reported %d of %d, bound %d", got, all, cut.After, cut.Before, Bound(inf.Object))
		}
		if fits := all <= goal; fits != (cut.Text == nil) && !(cut.Text == nil && mandatory(&inf.Object, d.endpoint) == len(d.list)) {
			t.Fatalf("%d tokens, goal %d, dropped %d turns", all, goal, cut.Turns)
		}
		if cut.After > goal && len(kept) != mandatory(&inf.Object, d.endpoint) {
			t.Fatalf("%d tokens for a goal of %d, and more than the mandatory messages are left:\n%s", cut.After, goal, text)
		}
		again, err := catalog.Read(d.endpoint, text)
		if err != nil {
			t.Fatalf("the shorter body: %v", err)
		}
		order.Inference = &again
		if second := cutter.Cut(order); second.Text != nil {
			t.Fatalf("a second cut drops %d turns more", second.Turns)
		}
	})
}

// mandatory is how many elements of a conversation are never dropped.
func mandatory(o *body.Object, e penstock.Endpoint) (n int) {
	c := read(o.Text, o.Value(memberOf(e)))
	for i := range c.elements {
		if c.elements[i].kept() {
			n++
		}
	}
	return n
}

// elementsOf are the elements of the conversation of a body, byte for byte.
func elementsOf(t *rapid.T, e penstock.Endpoint, text []byte) (list []string) {
	var o map[string]json.RawMessage
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := json.Unmarshal(o[memberOf(e)], &raw); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, one := range raw {
		list = append(list, string(one))
	}
	return list
}

// checkKept checks the elements that are left: they stand in their order, instructions and the last turn among them, calls with their
// results, and the roles are in an order that every format allows.
func (d *drawn) checkKept(t *rapid.T, kept []string) {
	at := 0
	gone := map[int]bool{}
	for i, element := range d.list {
		if at < len(kept) && kept[at] == element {
			at++
			continue
		}
		gone[i] = true
		if i >= d.last || strings.Contains(element, `"role":"developer"`) {
			t.Fatalf("a message that must be kept was dropped: %s", element)
		}
	}
	if at != len(kept) {
		t.Fatalf("%q was not in the conversation, or in another place", kept[at])
	}
	for n := 1; n <= d.calls; n++ {
		id := fmt.Sprintf(`"call_%d"`, n)
		var places []int
		for i, element := range d.list {
			if strings.Contains(strings.Replace(element, `"input":{"id":"call_1"}`, "", 1), id) {
				places = append(places, i)
			}
		}
		if len(places) != 2 || gone[places[0]] != gone[places[1]] {
			t.Fatalf("the call and the result of %s stand at %v; dropped %v", id, places, gone)
		}
	}
	first := slices.IndexFunc(kept, func(e string) bool { return !strings.Contains(e, "developer") })
	if kept[first] != d.list[0] && !strings.HasPrefix(kept[first], `{"role":"user","content":"`) {
		t.Fatalf("the conversation begins with %s", kept[first])
	}
}

// checkRest checks that the bytes around the list did not change.
func (d *drawn) checkRest(t *rapid.T, text []byte) {
	front := d.text[:strings.Index(d.text, d.list[0])]
	if back := d.list[len(d.list)-1] + " ]}"; !bytes.HasPrefix(text, []byte(front)) || !bytes.HasSuffix(text, []byte(back)) {
		t.Fatalf("the text around the conversation changed: %s", text)
	}
}

func FuzzCut(f *testing.F) {
	for _, seed := range []string{chatBody, messagesBody, responsesBody, `{"messages":[1,"a",null,{"role":1},{"content":[1]}]}`, `{"input":[[{"role":"user"}]]}`} {
		f.Add([]byte(seed), int64(100), true)
	}
	var cutter Cutter
	f.Fuzz(func(t *testing.T, text []byte, goal int64, middle bool) {
		for _, e := range []penstock.Endpoint{chat, messages, responses} {
			inf, err := catalog.Read(e, text)
			if err != nil {
				continue
			}
			policy := penstock.OverflowTruncateOldest
			if middle {
				policy = penstock.OverflowTruncateMiddle
			}
			cut := cutter.Cut(Order{Inference: &inf, Policy: policy, Window: Window{Goal: goal, Limit: goal}})
			if cut.Text == nil {
				continue
			}
			if _, err := catalog.Read(e, cut.Text); err != nil {
				t.Errorf("the shorter body is refused: %v\n%s\n%s", err, text, cut.Text)
			}
			if cut.Turns < 1 || len(cut.Text) >= len(text) || cut.After > cut.Before {
				t.Errorf("%+v of %s", cut, text)
			}
		}
	})
}
