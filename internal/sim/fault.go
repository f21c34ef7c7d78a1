package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// FaultHeader names the request header that asks for a fault.
const FaultHeader = "x-sim-fault"

// MaxCountedFaults bounds the prompts whose "times=N" faults are counted; past it the oldest count starts
// again.
const MaxCountedFaults = 100_000

// faultRetryAfter is the Retry-After of a forced rate limit.
const faultRetryAfter = time.Second

// Fault is a way to misbehave. Statuses are OpenAI's, then Anthropic's where they differ.
type Fault string

// The faults.
const (
	FaultServerError   Fault = "server_error"   // 500
	FaultFinal         Fault = "final"          // 500 with x-should-retry: false
	FaultOverloaded    Fault = "overloaded"     // 503, 529
	FaultRateLimit     Fault = "rate_limit"     // 429 with retry-after
	FaultQuota         Fault = "quota"          // 429 insufficient_quota, 402 billing_error: no use retrying
	FaultBadRequest    Fault = "bad_request"    // 400
	FaultContextLength Fault = "context_length" // 400: the prompt is too long
	FaultContentFilter Fault = "content_filter" // 400: the prompt is not acceptable
	FaultTooLarge      Fault = "too_large"      // 429: the request needs more tokens than a minute has; the limit itself is unused
	FaultBodyTooLarge  Fault = "body_too_large" // 413
	FaultForbidden     Fault = "forbidden"      // 403 with the page of a firewall
	FaultAuth          Fault = "auth"           // 401
	FaultNotFound      Fault = "not_found"      // 404: no such model

	FaultHang           Fault = "hang"             // hold the request, slot included, until the client leaves or the server closes
	FaultDisconnect     Fault = "disconnect"       // cut the connection after some chunks, or halfway through a plain body
	FaultMalformed      Fault = "malformed"        // break the JSON of one chunk, or of a plain body
	FaultErrorIn200     Fault = "error_in_200"     // status 200 with an error as the first event, or as the plain body
	FaultErrorMidStream Fault = "error_mid_stream" // an error event after some chunks; 500 if the answer is plain
	FaultStall          Fault = "stall"            // pause for Config.Stall after some chunks, then go on
)

// failureOf returns the answer to give for a fault that is a plain failure, and false for one that bends the
// answer.
func failureOf(fault Fault) (*failure, bool) {
	switch fault {
	case FaultServerError:
		return &failure{class: classServerError, message: "The simulated model failed."}, true
	case FaultFinal:
		return &failure{class: classServerError, message: "The simulated model cannot serve this.", final: true}, true
	case FaultOverloaded:
		return overloaded(), true
	case FaultRateLimit:
		return &failure{class: classRequestRate, message: "Rate limit reached.", retryAfter: faultRetryAfter}, true
	case FaultQuota:
		return &failure{class: classQuota, message: "The account's quota is used up; retrying will not help."}, true
	case FaultBadRequest:
		return &failure{class: classBadRequest, message: "The request is not valid."}, true
	case FaultContextLength:
		return &failure{class: classContextLength, message: "prompt is too long: it exceeds the model's maximum context length"}, true
	case FaultContentFilter:
		return &failure{class: classContentFilter, message: "The prompt was blocked by the content filtering policy."}, true
	case FaultTooLarge:
		return &failure{class: classOversized, retryAfter: time.Minute, message: oversizedMessage}, true
	case FaultBodyTooLarge:
		return &failure{class: classTooLarge, message: "The request is larger than is accepted."}, true
	case FaultForbidden:
		return &failure{class: classForbidden, message: "blocked"}, true
	case FaultAuth:
		return wrongKey(), true
	case FaultNotFound:
		return &failure{class: classModelNotFound, message: "The model does not exist, or the key may not use it."}, true
	}
	return nil, false
}

// What is said of a request that is too large for the limit on tokens, in OpenAI's words; Anthropic's are its dialect's.
const (
	oversizedLimit   = 30_000
	oversizedMessage = "Request too large for the simulated model in organization org-sim on tokens per min (TPM): Limit 30000, Requested 45000. " +
		"The input or output tokens must be reduced in order to run successfully."
)

// firewallPage is what stands in front of a server that dislikes a request.
const firewallPage = "<!DOCTYPE html><html><head><title>Attention Required!</title></head><body><h1>Sorry, you have been blocked</h1></body></html>\n"

func overloaded() *failure {
	return &failure{class: classOverloaded, message: "Overloaded: try again later."}
}

func wrongKey() *failure {
	return &failure{class: classAuth, message: "Incorrect API key provided."}
}

func parseFault(name string) (Fault, error) {
	known := []Fault{
		FaultServerError, FaultFinal, FaultOverloaded, FaultRateLimit, FaultQuota, FaultBadRequest, FaultContextLength,
		FaultContentFilter, FaultTooLarge, FaultBodyTooLarge, FaultForbidden, FaultAuth, FaultNotFound, FaultHang, FaultDisconnect, FaultMalformed, FaultErrorIn200,
		FaultErrorMidStream, FaultStall,
	}
	if slices.Contains(known, Fault(name)) {
		return Fault(name), nil
	}
	return "", fmt.Errorf("unknown fault %q; use one of %s", name, strings.Trim(fmt.Sprint(known), "[]"))
}

type chance struct {
	fault Fault
	p     float64
}

// chances lists the probabilities in a fixed order, so that a draw always means the same fault.
func (f Faults) chances() []chance {
	return []chance{
		{FaultServerError, f.ServerError},
		{FaultOverloaded, f.Overloaded},
		{FaultRateLimit, f.RateLimit},
		{FaultHang, f.Hang},
		{FaultDisconnect, f.Disconnect},
		{FaultMalformed, f.Malformed},
		{FaultErrorIn200, f.ErrorIn200},
		{FaultErrorMidStream, f.ErrorMidStream},
		{FaultStall, f.Stall},
	}
}

// at returns the fault that the number u in [0, 1) draws, or "".
func (f Faults) at(u float64) Fault {
	for _, c := range f.chances() {
		if u < c.p {
			return c.fault
		}
		u -= c.p
	}
	return ""
}

// countedFaults remembers how often each prompt with a "times=N" directive was seen.
type countedFaults struct {
	mu    sync.Mutex
	seen  map[promptKey]int
	order []promptKey // a ring once full: the oldest key is at next
	next  int
}

// count adds one request with the prompt and returns how many there were.
func (c *countedFaults) count(key promptKey) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.seen[key]; !known {
		if len(c.order) < MaxCountedFaults {
			c.order = append(c.order, key)
		} else {
			delete(c.seen, c.order[c.next])
			c.order[c.next] = key
			c.next = (c.next + 1) % MaxCountedFaults
		}
	}
	c.seen[key]++
	return c.seen[key]
}

func (c *countedFaults) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.order, c.next = make(map[promptKey]int), nil, 0
}
