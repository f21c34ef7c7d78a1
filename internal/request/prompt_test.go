package request

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/payload"
)

// capitals seals by writing in upper case, for one owner.
type capitals struct{ err error }

func (r capitals) Seal(o payload.Owner, plain []byte) ([]byte, error) {
	return []byte(o.Tenant + "/" + o.ID + "/" + strings.ToUpper(string(plain))), r.err
}

func (r capitals) Open(o payload.Owner, sealed []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(sealed, []byte(o.Tenant+"/"+o.ID+"/"))
	if !ok {
		return nil, errors.New("another owner")
	}
	return bytes.ToLower(plain), r.err
}

// oneRecord is a recorder with one record.
type oneRecord struct {
	Recorder
	record penstock.Request
}

func (o *oneRecord) Request(_ context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Request, error) {
	if tenant != o.record.Tenant || id != o.record.ID {
		return penstock.Request{}, penstock.Errorf(penstock.CodeNotFound, "There is none.")
	}
	return o.record, nil
}

// TestPromptOfACall holds that variables are recorded sealed, and read again by their tenant alone.
func TestPromptOfACall(t *testing.T) {
	t.Parallel()
	use := penstock.PromptUse{Name: "answer", Version: 1, SHA256: "5f1c"}
	for _, tt := range []struct {
		name, variables, want string
		sealer                Sealer
		code                  penstock.Code
	}{
		{"variables", `{"a":"x"}`, `{"a":"x"}`, capitals{}, ""},
		{"no variables", ``, `{}`, capitals{}, ""},
		{"too large", `{"a":"` + strings.Repeat("x", MaxKeptVariables) + `"}`, "", capitals{}, penstock.CodeGone},
		{"a sealer that fails", `{}`, "", capitals{errors.New("no key")}, penstock.CodeGone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			recorder := &oneRecord{}
			s := New(Deps{Recorder: recorder, Sealer: tt.sealer})
			r := &Running{service: s, id: "01A", principal: penstock.Principal{Tenant: penstock.Tenant{ID: "acme"}}, prompted: &dialect.Prompted{PromptUse: use, Variables: []byte(tt.variables)}}
			recorder.record = penstock.Request{ID: "01A", Tenant: "acme", Prompt: r.promptCall()}
			if tt.variables != "" && tt.code == "" && bytes.Contains(recorder.record.Prompt.Variables, []byte(tt.variables)) {
				t.Errorf("the variables are recorded as %s", recorder.record.Prompt.Variables)
			}
			got, variables, err := s.PromptOf(t.Context(), "acme", "01A")
			if penstock.ErrorCode(err) != tt.code || got != use || string(variables) != tt.want {
				t.Errorf("%+v %.40s %v", got, variables, err)
			}
			if _, _, err := s.PromptOf(t.Context(), "umbra", "01A"); penstock.ErrorCode(err) != penstock.CodeNotFound {
				t.Errorf("another tenant: %v", err)
			}
		})
	}
	s := New(Deps{Recorder: &oneRecord{record: penstock.Request{ID: "01A", Tenant: "acme"}}, Sealer: capitals{}})
	if _, _, err := s.PromptOf(t.Context(), "acme", "01A"); penstock.ErrorCode(err) != penstock.CodeNotFound || (&Running{}).promptCall() != nil {
		t.Errorf("a call without a prompt: %v", err)
	}
}
