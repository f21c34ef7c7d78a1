package penstock

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// codesOfTheContract are the codes of the public contract; true marks those that are retryable.
var codesOfTheContract = map[Code]bool{
	"invalid_request": false, "invalid_key": false, "budget_exceeded": false, "scope_missing": false,
	"not_found": false, "model_not_found": false,
	"idempotency_in_flight": true, "managed_by_file": false, "conflict": false,
	"gone": false, "too_large": false, "idempotency_mismatch": false,
	"rate_limited": true, "queue_full": true, "quota_exceeded": false,
	"internal": true, "upstream_error": true,
	"overloaded": true, "no_target_available": true, "upstream_timeout": true,

	"upstream_rejected": false, "content_blocked": false, "context_too_long": false,
	"deadline_exceeded": false, "cancelled": false, "poison": false,
}

func TestCodesAreTheContracts(t *testing.T) {
	t.Parallel()
	seen := map[Code]bool{}
	for _, code := range Codes {
		if seen[code] {
			t.Errorf("%s is listed twice", code)
		}
		seen[code] = true
		retryable, known := codesOfTheContract[code]
		if !known {
			t.Errorf("%s is not in the contract", code)
		} else if got := code.Retryable(); got != retryable {
			t.Errorf("%s: retryable is %v, want %v", code, got, retryable)
		}
	}
	for code := range codesOfTheContract {
		if !seen[code] {
			t.Errorf("%s is missing", code)
		}
	}
}

func TestErrorSaysCodeMessageAndCause(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  *Error
		want string
	}{
		{Errorf(CodeGone, "It was deleted %d days ago.", 3), "gone: It was deleted 3 days ago."},
		{&Error{Code: CodeOverloaded, Message: "Busy.", Err: io.ErrUnexpectedEOF}, "overloaded: Busy.: unexpected EOF"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestInvalidParamNamesTheField(t *testing.T) {
	t.Parallel()
	e := InvalidParam("inputs[3].body", "inputs[%d].body is missing.", 3)
	if e.Code != CodeInvalidRequest || e.Param != "inputs[3].body" || e.Message != "inputs[3].body is missing." {
		t.Errorf("got %+v", e)
	}
}

func TestInternalHidesItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("password=hunter2")
	e := Internal(cause)
	if e.Code != CodeInternal || strings.Contains(e.Message, "hunter2") || e.Message == "" {
		t.Errorf("got %+v", e)
	}
	if !errors.Is(e, cause) {
		t.Error("the cause is lost to the log")
	}
}

func TestAsErrorAndErrorCode(t *testing.T) {
	t.Parallel()
	inner := Errorf(CodeConflict, "Taken.")
	for _, tt := range []struct {
		name string
		err  error
		want Code
	}{
		{"nil", nil, ""},
		{"an Error", inner, CodeConflict},
		{"a wrapped Error", fmt.Errorf("claiming: %w", inner), CodeConflict},
		{"joined with others", errors.Join(io.EOF, inner), CodeConflict},
		{"something else", io.EOF, CodeInternal},
	} {
		if got := ErrorCode(tt.err); got != tt.want {
			t.Errorf("%s: code %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := AsError(fmt.Errorf("claiming: %w", inner)); got != inner {
		t.Errorf("AsError found %v, want the Error inside", got)
	}
	if got := AsError(io.EOF); !errors.Is(got, io.EOF) || got.Message == "EOF" {
		t.Errorf("a foreign error became %+v; want it hidden, with its cause kept", got)
	}
}
