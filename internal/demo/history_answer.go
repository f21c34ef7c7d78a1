package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"penstock"
)

// answer is the answer of the simulated model, which is called in this process: its thousands of answers need no network.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// ask gives a body to the simulated model.
func (h *history) ask(endpoint penstock.Endpoint, body []byte) (result []byte, usage penstock.Usage, err error) {
	request, err := http.NewRequest(http.MethodPost, string(endpoint), bytes.NewReader(body))
	if err != nil {
		return nil, usage, err
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	h.model.ServeHTTP(a, request)
	if a.status != http.StatusOK {
		return nil, usage, fmt.Errorf("the simulated model answered %d: %s", a.status, &a.body)
	}
	var read struct {
		Usage struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
			Input      int64 `json:"input_tokens"`
			Output     int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(a.body.Bytes(), &read); err != nil {
		return nil, usage, fmt.Errorf("reading the answer of the simulated model: %w", err)
	}
	u := read.Usage
	return h.dated(a.body.Bytes()), penstock.Usage{InputTokens: u.Prompt + u.Input, OutputTokens: u.Completion + u.Output}, nil
}

// createdNow is the time in an answer, which the simulated model takes from the machine's clock.
var createdNow = regexp.MustCompile(`"(created|created_at|completed_at)":\d+`)

// dated is an answer with the time of the past.
func (h *history) dated(answer []byte) []byte {
	return createdNow.ReplaceAll(answer, []byte(`"$1":`+strconv.FormatInt(h.Clock.Now().Unix(), 10)))
}
