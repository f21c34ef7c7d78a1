package overflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/token"
)

// said is a text of a word and about 50 tokens.
func said(word string) string { return word + strings.Repeat(" tea", 50) }

// inferenceOf reads a body.
func inferenceOf(t testing.TB, e penstock.Endpoint, text string) *dialect.Inference {
	t.Helper()
	inf, err := catalog.Read(e, []byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return &inf
}

const chat, messages, responses = penstock.EndpointChat, penstock.EndpointMessages, penstock.EndpointResponses

// The bodies of the table. A word names each message.
var (
	chatBody = `{"model":"m", "messages" : [
		{"role":"system","content":"` + said("rules") + `"},
		{"role":"user","content":"` + said("one") + `"} , {"role":"assistant","content":"` + said("two") + `"},
		{"role":"user","content":"` + said("three") + `"},
		{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":"{\"id\":\"c9\"}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"` + said("found") + `"},{"role":"assistant","content":"` + said("four") + `"},
		{"role":"user","content":[{"type":"text","text":"` + said("five") + `"}]},
		{"role":"assistant","content":"` + said("six") + `"},
		{"role":"developer","content":"` + said("later") + `"},
		{"role":"user","content":"` + said("last") + `"}],"temperature":0.5}`
	messagesBody = `{"model":"m","max_tokens":9,"system":"` + said("rules") + `","messages":[
		{"role":"user","content":"` + said("one") + `"},
		{"role":"assistant","content":[{"type":"text","text":"` + said("two") + `"},{"type":"tool_use","id":"t1","name":"find","input":{"id":"x"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"` + said("found") + `"}]},
		{"role":"assistant","content":"` + said("three") + `"},
		{"role":"user","content":"` + said("four") + `"},{"role":"assistant","content":"` + said("five") + `"},
		{"role":"user","content":"` + said("six") + `"},{"role":"assistant","content":"` + said("seven") + `"},
		{"role":"user","content":"` + said("last") + `"}]}`
	// The result of the call in the first turn is in the third.
	responsesBody = `{"model":"m","instructions":"` + said("rules") + `","input":[
		{"role":"user","content":"` + said("one") + `"},
		{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"abc"},
		{"type":"function_call","id":"fc_1","call_id":"c1","name":"wait","arguments":"{}"},
		{"role":"user","content":"` + said("two") + `"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + said("three") + `"}]},
		{"role":"user","content":"` + said("four") + `"},
		{"type":"function_call_output","call_id":"c1","output":"` + said("found") + `"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + said("five") + `"}]},
		{"role":"user","content":"` + said("six") + `"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + said("seven") + `"}]},
		{"role":"user","content":"` + said("last") + `"}]}`
)

func TestCut(t *testing.T) {
	t.Parallel()
	const oldest, middle = penstock.OverflowTruncateOldest, penstock.OverflowTruncateMiddle
	for _, c := range []struct {
		name     string
		endpoint penstock.Endpoint
		body     string
		policy   penstock.OnOverflow
		goal     int64
		own      int
		want     string // the words that are kept
		turns    int64
	}{
		{"fits", chat, chatBody, oldest, 1000, 0, "rules one two three found four five six later last", 0},
		{"the oldest turn", chat, chatBody, oldest, 480, 0, "rules three found four five six later last", 1},
		{"a tool call and its result", chat, chatBody, oldest, 300, 0, "rules five six later last", 2},
		{"all but the last turn", chat, chatBody, oldest, 200, 0, "rules later last", 3},
		{"the middle", chat, chatBody, middle, 420, 0, "rules one two five six later last", 1},
		{"the first turn does not fit", chat, strings.Replace(chatBody, "two tea", "two"+strings.Repeat(" tea", 300), 1), middle, 420, 0, "rules five six later last", 2},
		{"the middle of little", chat, chatBody, middle, 300, 0, "rules one two later last", 2},
		{"own messages stay", chat, chatBody, oldest, 200, 4, "rules five six later last", 2},
		{"the mandatory rest is longer", chat, chatBody, oldest, 10, 0, "rules later last", 3},
		{"messages", messages, messagesBody, oldest, 420, 0, "rules four five six seven last", 1},
		{"messages, the middle", messages, messagesBody, middle, 400, 0, "rules one two found three last", 2},
		{"messages, only the last", messages, messagesBody, oldest, 120, 0, "rules last", 3},
		{"a late result", responses, responsesBody, oldest, 360, 0, "rules six seven last", 3},
		{"a late result stays with its call", responses, responsesBody, oldest, 480, 0, "rules one four found five six seven last", 1},
		{"an id is used again", chat, strings.ReplaceAll(strings.Replace(chatBody, `{"role":"assistant","content":"`+said("two")+`"}`,
			`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"`+said("two")+`"}`, 1), "c9", "c1"),
			oldest, 480, 0, "rules three found four five six later last", 1},
		{"a text has no turns", responses, `{"model":"m","input":"` + said("last") + `"}`, oldest, 10, 0, "last", 0},
		{"one message", messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"` + said("last") + `"}]}`, oldest, 10, 0, "last", 0},
		{"no messages", chat, `{"model":"m","messages":[]}`, oldest, 10, 0, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inf := inferenceOf(t, c.endpoint, c.body)
			var cutter Cutter
			cut := cutter.Cut(Order{Inference: inf, Policy: c.policy, Window: Window{Goal: c.goal, Limit: 1000}, Own: c.own})
			text := inf.Body()
			if cut.Text != nil {
				text = cut.Text
			}
			if got := strings.Join(words(string(text)), " "); got != c.want || cut.Turns != c.turns {
				t.Errorf("kept %q and dropped %d turns, want %q and %d", got, cut.Turns, c.want, c.turns)
			}
			if all, left := cutter.tokens.Body(inf.Body()), cutter.tokens.Body(text); cut.Before != all || cut.After != left {
				t.Errorf("%d of %d tokens, want %d of %d", cut.After, cut.Before, left, all)
			}
			inferenceOf(t, c.endpoint, string(text))
		})
	}
}

// words are the words that name the messages of a body.
func words(text string) (found []string) {
	for _, word := range strings.Split(text, " tea") {
		if at := strings.LastIndexByte(word, '"'); at >= 0 && word[at+1:] != "" && !strings.ContainsAny(word[at+1:], "}],{") {
			found = append(found, word[at+1:])
		}
	}
	return found
}

// Users that write twice before they are answered have one turn, and answers before the first message are a turn.
func TestTurns(t *testing.T) {
	t.Parallel()
	for roles, want := range map[string]string{
		"user":                                     "0",
		"user user assistant user":                 "0 0 0 1",
		"assistant user":                           "0 1",
		"system user system assistant tool user":   "- 0 - 0 0 1",
		"user assistant tool assistant user robot": "0 0 0 0 1 1",
		"system": "-",
	} {
		var list []string
		for role := range strings.FieldsSeq(roles) {
			list = append(list, fmt.Sprintf(`{"content":"x","role":%q}`, role))
		}
		text := []byte(`{"messages":[` + strings.Join(list, " , ") + `]}`)
		o, err := body.Scan(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range read(text, o.Value("messages")).elements {
			got = append(got, strings.ReplaceAll(fmt.Sprint(e.turn), "-1", "-"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: turns %v, want %s", roles, got, want)
		}
	}
}

// The bound is never below the count.
func TestBound(t *testing.T) {
	t.Parallel()
	var tokens token.Counter
	for _, text := range []string{
		chatBody, messagesBody, responsesBody, `{"messages":[]}`, `{"messages":[{"role":"user","content":"a"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a/b"}}]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"aaaa"}}]}]}`,
		`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:,x"},{"type":"input_file","file_data":"data:,x"}]}]}`,
	} {
		plain, err := body.Scan([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		n, scanned := tokens.Body([]byte(text)), plain
		if entry, ok := catalog.Of(chat); ok {
			if scanned, err = body.ScanAs([]byte(text), entry.Format.Shape); err != nil {
				t.Fatal(err)
			}
		}
		if Bound(plain) < n || Bound(scanned) < n {
			t.Errorf("bounds %d and %d of %d tokens: %s", Bound(plain), Bound(scanned), n, text)
		}
	}
	for _, name := range token.Media {
		if o, err := body.ScanAs([]byte(`{"messages":[{"content":[{"`+name+`":"x"}]}]}`), &body.Shape{}); err != nil || o.Media() != 1 {
			t.Errorf("%s is counted as an image, and not bounded as one", name)
		}
	}
}

// A long input is counted up to the limit and a little more, and its tokens are close to the truth.
func TestLongInputIsEstimated(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 2000 {
		list = append(list, fmt.Sprintf(`{"role":"user","content":%q},{"role":"assistant","content":"yes"}`, said(fmt.Sprint(i))+strings.Repeat(" cup", 200)))
	}
	inf := inferenceOf(t, chat, `{"model":"m","messages":[`+strings.Join(list, ",")+`,{"role":"user","content":"last"}]}`)
	var cutter Cutter
	cut := cutter.Cut(Order{Inference: inf, Policy: penstock.OverflowTruncateOldest, Window: Window{Goal: 5000, Limit: 5000}})
	truth := cutter.tokens.Body(inf.Body())
	if cut.After > 5000 || cut.After < 4000 || cut.Turns < 1900 || cut.Before < truth*9/10 || cut.Before > truth*11/10 {
		t.Errorf("kept %d of %d tokens, truly %d; dropped %d turns", cut.After, cut.Before, truth, cut.Turns)
	}
	if left := cutter.tokens.Body(cut.Text); left != cut.After {
		t.Errorf("%d tokens are left, and %d were reported", left, cut.After)
	}
}

// Many turns that share ids are joined in time that does not grow with the square of their number.
func TestManyLinks(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 20_000 {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"a"},{"type":"function_call","call_id":"c%d","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c%d","output":"x"}`, i, max(0, i-1)))
	}
	inf := inferenceOf(t, responses, `{"model":"m","input":[`+strings.Join(list, ",")+`]}`)
	c := read(inf.Body(), inf.Object.Value("input"))
	if len(c.groups) != 1 || !c.groups[0].must {
		t.Errorf("%d groups", len(c.groups))
	}
}

func TestApplies(t *testing.T) {
	t.Parallel()
	var with []string
	for _, e := range catalog.All() {
		if Applies(e.Name) {
			with = append(with, string(e.Name))
		}
	}
	slices.Sort(with)
	if want := []string{string(chat), string(messages), string(responses)}; !slices.Equal(with, want) {
		t.Errorf("endpoints with turns: %v, want %v", with, want)
	}
}

// Input counts only what may be too long.
func TestInput(t *testing.T) {
	t.Parallel()
	var cutter Cutter
	o := inferenceOf(t, chat, chatBody).Object
	if n := cutter.Input(o, Bound(o)); n != Bound(o) {
		t.Errorf("a short input: %d", n)
	}
	if n := cutter.Input(o, Bound(o)-1); n != cutter.tokens.Body(o.Text) {
		t.Errorf("a long input: %d", n)
	}
}
