package request

import (
	"context"

	"penstock"
	"penstock/internal/payload"
)

// MaxKeptVariables bounds the variables of a prompt that are stored with the record of a call. The record of a call with larger ones names
// the version only.
const MaxKeptVariables = 64 << 10

// Sealer seals payloads.
type Sealer interface {
	Seal(owner payload.Owner, plain []byte) ([]byte, error)
	Open(owner payload.Owner, sealed []byte) ([]byte, error)
}

// variablesOwner binds sealed variables to their call.
func variablesOwner(tenant penstock.TenantID, id penstock.ID) payload.Owner {
	return payload.Owner{Tenant: string(tenant), ID: string(id), Part: "variables"}
}

// promptCall is the prompt of the call as its record has it, with sealed variables; nil for a call without a prompt. A call whose
// variables cannot be sealed is recorded without them: it was answered and paid for.
func (r *Running) promptCall() *penstock.PromptCall {
	if r.prompted == nil {
		return nil
	}
	call := &penstock.PromptCall{PromptUse: r.prompted.PromptUse}
	plain := r.prompted.Variables
	if len(plain) == 0 {
		plain = []byte("{}")
	}
	if r.service.Sealer == nil || len(plain) > MaxKeptVariables {
		return call
	}
	if sealed, err := r.service.Sealer.Seal(variablesOwner(r.principal.Tenant.ID, r.id), plain); err == nil {
		call.Variables = sealed
	}
	return call
}

// PromptOf finds the prompt of a recorded call, with its variables as the caller sent them. Codes: not_found (the call, or it had no
// prompt), gone (its variables were not stored).
func (s *Service) PromptOf(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.PromptUse, []byte, error) {
	r, err := s.Request(ctx, tenant, id)
	if err != nil {
		return penstock.PromptUse{}, nil, err
	}
	if r.Prompt == nil {
		return penstock.PromptUse{}, nil, penstock.Errorf(penstock.CodeNotFound, "%s used no prompt.", penstock.ViewRequest.Format(id))
	}
	if len(r.Prompt.Variables) == 0 || s.Sealer == nil {
		return r.Prompt.PromptUse, nil, penstock.Errorf(penstock.CodeGone, "The variables of %s were not stored; they had more than %d bytes. It used the prompt %s.",
			penstock.ViewRequest.Format(id), MaxKeptVariables, &r.Prompt.PromptUse)
	}
	plain, err := s.Sealer.Open(variablesOwner(tenant, id), r.Prompt.Variables)
	if err != nil {
		return r.Prompt.PromptUse, nil, penstock.Internal(err)
	}
	return r.Prompt.PromptUse, plain, nil
}
