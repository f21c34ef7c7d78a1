package translate

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/provider"
	"penstock/internal/provider/openai"
	"penstock/internal/sim"
)

func simulator(t *testing.T) string {
	t.Helper()
	server, err := sim.New(sim.Config{OutputTokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	t.Cleanup(server.Close)
	return listener.URL
}

// A message is requested from a server of chat completions through its real adapter, usage included, which
// the adapter would hide if the translated body did not ask for it.
func TestMessageFromAServerOfChatCompletions(t *testing.T) {
	t.Parallel()
	adapter, err := openai.New(openai.Config{Name: "sim", BaseURL: simulator(t) + "/v1", APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(adapter.CloseIdleConnections)
	for _, stream := range []bool{false, true} {
		for choice, stop := range map[string]string{`{"type":"auto"}`: "end_turn", `{"type":"any"}`: "tool_use"} {
			body, dropped, err := messagesToChat.Request([]byte(`{"model":"m","max_tokens":50,"system":"Be brief.","stream":`+boolText(stream)+
				`,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":`+choice+`}`), testMost)
			if err != nil || len(dropped) > 0 {
				t.Fatal(dropped, err)
			}
			up, err := adapter.Call(t.Context(), provider.Call{Endpoint: penstock.EndpointChat, Body: body, UpstreamModel: "m", Stream: stream})
			if err != nil {
				t.Fatal(err)
			}
			// Gathered into one piece either way, so that the two can be held against each other.
			answer := messagesToChat.Answer(up, dialect.Asked{Model: "m"})
			wire, said, end := read(answer)
			answer.Close()
			var m readMessage
			if err := json.Unmarshal([]byte(wire), &m); err != nil || end != io.EOF {
				t.Fatalf("%v, %v: %s", end, err, wire)
			}
			var told tokens
			told.update(m.Usage)
			usage := answer.Meta().Usage
			if m.StopReason != stop || told.input != usage.InputTokens || told.output != usage.OutputTokens || told.output == 0 {
				t.Errorf("stream %v: %s, while usage is %+v", stream, wire, usage)
			}
			if (stop == "end_turn") != (said != "") || len(m.Content) != 1 {
				t.Errorf("stream %v: said %q in %s", stream, said, wire)
			}
		}
	}
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// A chat completion is requested from a server of messages.
func TestChatCompletionFromAServerOfMessages(t *testing.T) {
	t.Parallel()
	url := simulator(t) + "/v1/messages"
	for _, stream := range []bool{false, true} {
		for choice, finish := range map[string]string{"auto": "stop", "required": "tool_calls"} {
			body, dropped, err := chatToMessages.Request([]byte(`{"model":"m","max_tokens":50,"stream":`+boolText(stream)+
				`,"messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Hi"}],`+
				`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"`+choice+`"}`), testMost)
			if err != nil || len(dropped) > 0 {
				t.Fatal(dropped, err)
			}
			text, contentType := post(t, url, body)
			wire, said, end := read(chatToMessages.Answer(upstream(text, contentType), dialect.Asked{Model: "m"}))
			var c completion
			if err := json.Unmarshal([]byte(wire), &c); err != nil || end != io.EOF || len(c.Choices) != 1 {
				t.Fatalf("%v, %v: %s", end, err, wire)
			}
			usage, known := tokensFromChat(c.Usage)
			if c.Choices[0].FinishReason != finish || !known || usage.input == 0 || usage.output == 0 {
				t.Errorf("stream %v: %s", stream, wire)
			}
			if calls := len(c.Choices[0].Message.ToolCalls); (finish == "stop") != (said != "") || (finish == "tool_calls") != (calls == 1) {
				t.Errorf("stream %v: said %q in %s", stream, said, wire)
			}
		}
	}
}

func post(t *testing.T, url string, body []byte) (text []byte, contentType string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", typeJSON)
	req.Header.Set("x-api-key", "k")
	req.Header.Set("anthropic-version", "2023-06-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v: %s", res.Status, err, text)
	}
	return text, res.Header.Get("Content-Type")
}

// An upstream's refusal of a translated body is returned in the caller's dialect.
func TestRefusalOfAServerOfChatCompletions(t *testing.T) {
	t.Parallel()
	adapter, err := openai.New(openai.Config{Name: "sim", BaseURL: simulator(t) + "/v1", APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(adapter.CloseIdleConnections)
	body, _, err := messagesToChat.Request([]byte(`{"max_tokens":50,"messages":[{"role":"user","content":"Hi [sim:fault=context_length]"}]}`), testMost)
	if err != nil {
		t.Fatal(err)
	}
	_, err = adapter.Call(t.Context(), provider.Call{Endpoint: penstock.EndpointChat, Body: body, UpstreamModel: "m"})
	failure, ok := errors.AsType[*provider.Error](err)
	if !ok || failure.Kind != provider.KindContextTooLong {
		t.Fatalf("got %v", err)
	}
	if got := string(messagesToChat.Error(failure).Body); !strings.HasPrefix(got, `{"type":"error","error":{"type":"invalid_request_error","message":"`) {
		t.Errorf("the caller gets %s", got)
	}
}

// A response is requested from a server that has chat completions alone, through its real adapter, and from a server of messages.
func TestResponseFromOtherServers(t *testing.T) {
	t.Parallel()
	base := simulator(t)
	adapter, err := openai.New(openai.Config{Name: "sim", BaseURL: base + "/v1", APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(adapter.CloseIdleConnections)
	for _, stream := range []bool{false, true} {
		for choice, kind := range map[string]string{"auto": itemMessage, "required": itemCall} {
			text := []byte(`{"model":"m","max_output_tokens":50,"instructions":"Be brief.","stream":` + boolText(stream) + `,"input":"Hi","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"tool_choice":"` + choice + `"}`)
			chat, dropped, err := responsesToChat.Request(text, testMost)
			if err != nil || len(dropped) > 0 {
				t.Fatal(dropped, err)
			}
			up, err := adapter.Call(t.Context(), provider.Call{Endpoint: penstock.EndpointChat, Body: chat, UpstreamModel: "m", Stream: stream})
			if err != nil {
				t.Fatal(err)
			}
			answer := responsesToChat.Answer(up, dialect.Asked{Model: "m", ID: "1"})
			wire, said, end := read(answer)
			answer.Close()
			checkResponse(t, kind, wire, said, end)

			message, dropped, err := responsesToMessages.Request(text, testMost)
			if err != nil || len(dropped) > 0 {
				t.Fatal(dropped, err)
			}
			body, contentType := post(t, base+"/v1/messages", message)
			wire, said, end = read(responsesToMessages.Answer(upstream(body, contentType), dialect.Asked{Model: "m", ID: "1"}))
			checkResponse(t, kind, wire, said, end)
		}
	}
}

func checkResponse(t *testing.T, kind, wire, said string, end error) {
	t.Helper()
	var r writtenResponse
	if err := json.Unmarshal([]byte(wire), &r, lenient); err != nil || end != io.EOF {
		t.Fatalf("%v, %v: %s", end, err, wire)
	}
	if r.ID != "resp_1" || r.Status != "completed" || len(r.Output) != 1 || r.Output[0].Type != kind || (said != "") != (kind == itemMessage) {
		t.Errorf("said %q in %s", said, wire)
	}
	if r.Usage == nil || r.Usage.InputTokens == 0 || r.Usage.OutputTokens == 0 || r.Usage.TotalTokens != r.Usage.InputTokens+r.Usage.OutputTokens {
		t.Errorf("usage in %s", wire)
	}
}
