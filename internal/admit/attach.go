package admit

import (
	"context"

	"penstock"
	"penstock/internal/attachment"
	"penstock/internal/dialect"
)

// Attachments puts the content of files into bodies.
type Attachments interface {
	// Attach returns an inference with the content of the files that it names. Codes: those of attachment.Service.Attach.
	Attach(ctx context.Context, o attachment.Order, inf dialect.Inference) (dialect.Inference, error)
	// Fill returns a body with the content of the files that it names. Codes: those of attachment.Service.Fill.
	Fill(ctx context.Context, o attachment.Order, text []byte) ([]byte, []penstock.AttachedFile, error)
}

// Filled is a body with the content of the files that it names, as a call with it would be routed. Codes: those of
// attachment.Service.Fill.
func (s *Service) Filled(ctx context.Context, caller penstock.Principal, text []byte, memory attachment.Memory) ([]byte, error) {
	if s.Files == nil {
		return text, nil
	}
	filled, _, err := s.Files.Fill(ctx, attachment.Order{Tenant: caller.Tenant.ID, MaxBytes: s.Config.Current().Process.Limits.MaxBodyBytes, Memory: memory}, text)
	return filled, err
}

// attachRequest puts files into the body of a synchronous call. It returns the new inference, nil if the body names no files.
func (s *Service) attachRequest(ctx context.Context, caller penstock.Principal, o *RequestOrder) (*dialect.Inference, error) {
	if s.Files == nil {
		return nil, nil
	}
	order := attachment.Order{Tenant: caller.Tenant.ID, Endpoint: o.Endpoint, MaxBytes: s.Config.Current().Process.Limits.MaxBodyBytes, Memory: o.Memory}
	attached, err := s.Files.Attach(ctx, order, o.Inference)
	if err != nil || len(attached.Files) == 0 {
		return nil, err
	}
	o.Inference = attached
	return &attached, nil
}

// attachJob puts files into the bodies of a job: from here on, the job does not need them. The caller's list of inferences is not
// changed, because a job that was accepted before is found by the bodies that the caller sent. Codes: those of
// attachment.Service.Attach, and too_large for all bodies together.
func (s *Service) attachJob(ctx context.Context, caller penstock.Principal, o *JobOrder) error {
	if s.Files == nil {
		return nil
	}
	limits, all := s.Config.Current().Process.Limits, int64(0)
	order := attachment.Order{Tenant: caller.Tenant.ID, Endpoint: o.Endpoint, Memory: o.Memory}
	sent := o.Inferences
	for i := range sent {
		order.MaxBytes = min(limits.MaxBodyBytes, limits.MaxJobBytes-all)
		attached, err := s.Files.Attach(ctx, order, sent[i])
		if err != nil {
			return inInput(err, i, len(sent))
		}
		all += int64(len(attached.Body()))
		if len(attached.Files) == 0 {
			continue
		}
		if &o.Inferences[0] == &sent[0] {
			o.Inferences = append([]dialect.Inference(nil), sent...)
		}
		o.Inferences[i] = attached
	}
	return nil
}
