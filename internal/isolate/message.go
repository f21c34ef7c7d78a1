package isolate

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/capacity"
	"penstock/internal/provider"
	"penstock/internal/store"
)

// order is the message to a child, beside the sealed input. Parent and child are the same binary, so the format may
// change freely.
type order struct {
	Subject         penstock.ID
	Fence           int64
	Tenant          penstock.TenantID
	Key             string
	Model           string
	Lane            penstock.Lane
	Endpoint        penstock.Endpoint
	Stream          penstock.Stream
	Bound           penstock.NanoUSD
	Bounded         bool
	Timeout         time.Duration
	MaxOutputTokens int64
	OnOverflow      penstock.OnOverflow
	TraceParent     string

	Target   penstock.Target
	As       penstock.Model // the definition of Model
	Config   string
	Reason   string
	Provider []byte // its settings
	Keys     []byte
	Opens    store.PayloadOwner
	Seals    store.PayloadOwner
}

// outcome is the answer of a child, beside the sealed result.
type outcome struct {
	Attempts     []penstock.Attempt
	Failure      *failure
	Final        bool
	Begun        bool
	Counted      int
	Target       string
	StatusCode   int
	Usage        penstock.Usage
	Cost         penstock.NanoUSD
	Forfeit      penstock.NanoUSD
	PriceVersion string
	Unpriced     bool
	Result       capacity.Result
}

// failure is an error in a message to another process. Only the text of its cause is kept.
type failure struct {
	Kind       provider.Kind // of an upstream error, or ""
	StatusCode int
	Limits     provider.RateLimits
	Quota      provider.Quota
	Note       string

	Code  penstock.Code // of an error of Penstock, or ""
	Param string

	Message    string
	RetryAfter time.Duration
	Cause      string
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return &failure{Kind: e.Kind, StatusCode: e.StatusCode, Limits: e.Limits, Quota: e.Quota, Note: e.Note, Message: e.Message, RetryAfter: e.RetryAfter, Cause: text(e.Err)}
	}
	e := penstock.AsError(err)
	return &failure{Code: e.Code, Param: e.Param, Message: e.Message, RetryAfter: e.RetryAfter, Cause: text(e.Err)}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	var cause error
	if f.Cause != "" {
		cause = errors.New(f.Cause)
	}
	if f.Kind != "" {
		return &provider.Error{Kind: f.Kind, StatusCode: f.StatusCode, Limits: f.Limits, Quota: f.Quota, Note: f.Note, Message: f.Message, RetryAfter: f.RetryAfter, Err: cause}
	}
	return &penstock.Error{Code: f.Code, Param: f.Param, Message: f.Message, RetryAfter: f.RetryAfter, Err: cause}
}

func outcomeOf(o *attempt.Outcome) outcome {
	return outcome{
		Attempts: o.Attempts, Failure: failureOf(o.Err), Final: o.Final, Begun: o.Begun, Counted: o.Counted, Target: o.Target, StatusCode: o.StatusCode,
		Usage: o.Usage, Cost: o.Cost, Forfeit: o.Forfeit, PriceVersion: o.PriceVersion, Unpriced: o.Unpriced,
	}
}

func (o *outcome) outcome() *attempt.Outcome {
	return &attempt.Outcome{
		Attempts: o.Attempts, Err: o.Failure.err(), Final: o.Final, Begun: o.Begun, Counted: o.Counted, Target: o.Target, StatusCode: o.StatusCode,
		Usage: o.Usage, Cost: o.Cost, Forfeit: o.Forfeit, PriceVersion: o.PriceVersion, Unpriced: o.Unpriced,
	}
}

// encode joins a message and its payload: the length of the message, the message, the payload.
func encode(message any, payload []byte) ([]byte, error) {
	head, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encoding a message: %w", err)
	}
	all := make([]byte, 4, 4+len(head)+len(payload))
	binary.BigEndian.PutUint32(all, uint32(len(head)))
	return append(append(all, head...), payload...), nil
}

// decode splits the output of encode.
func decode(all []byte, message any) (payload []byte, err error) {
	if len(all) < 4 {
		return nil, errors.New("a message is cut off")
	}
	size := int64(binary.BigEndian.Uint32(all))
	if all = all[4:]; size > int64(len(all)) {
		return nil, errors.New("a message is cut off")
	}
	return all[size:], json.Unmarshal(all[:size], message)
}
