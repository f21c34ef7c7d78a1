package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"penstock"
)

// The answers of the API as the crash tests read them. They are written down once more here, on
// purpose: a test that decoded with the server's own types could not see a field change its name.

type jobAnswer struct {
	ID                string            `json:"id"`
	Status            penstock.Status   `json:"status"`
	Outcome           penstock.Outcome  `json:"outcome"`
	Lane              penstock.Lane     `json:"lane"`
	Tags              map[string]string `json:"tags"`
	Counts            penstock.Counts   `json:"counts"`
	Usage             usageAnswer       `json:"usage"`
	FinishedAt        time.Time         `json:"finished_at"`
	CancelRequestedAt time.Time         `json:"cancel_requested_at"`
	Result            *resultAnswer     `json:"result"`
}

type usageAnswer struct {
	penstock.Usage
	Cost penstock.NanoUSD `json:"cost_usd"`
}

func (u usageAnswer) plus(v usageAnswer) usageAnswer {
	return usageAnswer{u.Usage.Plus(v.Usage), u.Cost + v.Cost}
}

type resultAnswer struct {
	Seq        int64               `json:"seq"`
	Index      int                 `json:"index"`
	CustomID   string              `json:"custom_id"`
	ItemID     string              `json:"item_id"`
	Status     penstock.Status     `json:"status"`
	Target     string              `json:"target"`
	Attempts   int                 `json:"attempts"`
	Response   *responseAnswer     `json:"response"`
	Error      *penstock.ItemError `json:"error"`
	Usage      usageAnswer         `json:"usage"`
	FinishedAt time.Time           `json:"finished_at"`
}

type responseAnswer struct {
	StatusCode int             `json:"status_code"`
	Body       json.RawMessage `json:"body"`
}

// text is all that a caller can see of a result, for comparing.
func (r resultAnswer) text() string { return encoded(r) }

// told is what an event tells of the result.
func (r resultAnswer) told() string {
	r.Response = nil
	return encoded(r)
}

// content is the text that the model answered with.
func (r resultAnswer) content() (string, error) {
	if r.Response == nil {
		return "", fmt.Errorf("item %s has no response", r.ItemID)
	}
	return chatContent(r.Response.Body)
}

func chatContent(body []byte) (string, error) {
	var completion struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(body, &completion); err != nil {
		return "", fmt.Errorf("reading a completion: %w", err)
	}
	if len(completion.Choices) != 1 || completion.Choices[0].Message.Content == "" {
		return "", fmt.Errorf("a completion without an answer: %.200s", body)
	}
	return completion.Choices[0].Message.Content, nil
}

type itemAnswer struct {
	resultAnswer
	JobID   string          `json:"job_id"`
	History []attemptAnswer `json:"history"`
}

// lost counts the attempts whose worker died.
func (i itemAnswer) lost() int {
	n := 0
	for _, attempt := range i.History {
		if attempt.lost() {
			n++
		}
	}
	return n
}

// unknown counts the attempts of which nobody knows what they cost, the lost ones among them.
func (i itemAnswer) unknown() int {
	n := 0
	for _, attempt := range i.History {
		if !attempt.UsageKnown {
			n++
		}
	}
	return n
}

type attemptAnswer struct {
	Number     int         `json:"number"`
	Target     string      `json:"target"`
	Isolated   bool        `json:"isolated"`
	ErrorKind  string      `json:"error_kind"`
	Usage      usageAnswer `json:"usage"`
	UsageKnown bool        `json:"usage_known"`
	StartedAt  time.Time   `json:"started_at"`
	FinishedAt time.Time   `json:"finished_at"`
}

func (a attemptAnswer) lost() bool { return a.ErrorKind == penstock.AttemptLost }

type eventAnswer struct {
	Seq    int64              `json:"seq"`
	Type   penstock.EventType `json:"type"`
	JobID  string             `json:"job_id"`
	ItemID string             `json:"item_id"`
	Data   *resultAnswer      `json:"data"`
}

// events reads the complete frames of a stream that may have been cut anywhere.
func events(stream string) ([]eventAnswer, error) {
	var all []eventAnswer
	for {
		frame, rest, whole := strings.Cut(stream, "\n\n")
		if !whole {
			return all, nil
		}
		stream = rest
		_, data, found := strings.Cut(frame, "\ndata: ")
		if !found {
			continue // a comment
		}
		var e eventAnswer
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return all, fmt.Errorf("reading event %q: %w", frame, err)
		}
		all = append(all, e)
	}
}

// results reads lines of results.
func results(lines string) ([]resultAnswer, error) {
	var all []resultAnswer
	for line := range strings.Lines(lines) {
		var r resultAnswer
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return all, fmt.Errorf("reading line %.200q: %w", line, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func decoded[T any](text string) (T, error) {
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, fmt.Errorf("reading %.200q: %w", text, err)
	}
	return v, nil
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data always encodes
	}
	return string(text)
}
