package admit

import (
	"fmt"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/dial"
	"penstock/internal/dialect"
)

// Fetchable refuses an inference whose body has a URL that a target may not fetch for its tenant. Without this check, a model
// server inside the network would fetch internal addresses for outside callers. The check uses the URL alone: only the server
// that connects resolves the host name. Codes: invalid_request.
func Fetchable(snapshot *config.Snapshot, tenant penstock.Tenant, targets []*penstock.Target, inf dialect.Inference) error {
	if len(inf.Object.Links) == 0 {
		return nil
	}
	hosts := mediaHosts(snapshot, tenant, targets)
	if slices.Contains(hosts, penstock.MediaAny) {
		return nil
	}
	for _, at := range inf.Object.Links {
		link := inf.Object.Link(at)
		if len(link) >= len("data:") && strings.EqualFold(link[:len("data:")], "data:") || link == "" {
			continue
		}
		if reason := unfetchable(hosts, link); reason != "" {
			param := body.Path(inf.Object.Text, at.Start)
			return penstock.InvalidParam(param, "%s %s. Send the content itself as a data: URL, or ask the operator to allow the host for tenant %s, by media_hosts.",
				param, reason, tenant.ID)
		}
	}
	return nil
}

// mediaHosts are the hosts that may be fetched from: those of the tenant, else the global ones, else a safe default. A target
// in a private network fetches nothing unless an operator allows it, because a public name may resolve to a private address.
func mediaHosts(snapshot *config.Snapshot, tenant penstock.Tenant, targets []*penstock.Target) []string {
	switch {
	case len(tenant.MediaHosts) > 0:
		return tenant.MediaHosts
	case len(snapshot.MediaHosts) > 0:
		return snapshot.MediaHosts
	case slices.ContainsFunc(targets, func(t *penstock.Target) bool { return t.Private }):
		return nil
	}
	return []string{penstock.MediaPublic}
}

// unfetchable says why a URL may not be fetched, "" if it may.
func unfetchable(hosts []string, link string) string {
	host, err := dial.HostOf(link)
	if err != nil {
		return err.Error()
	}
	if len(hosts) == 0 || slices.Contains(hosts, penstock.MediaNone) {
		return fmt.Sprintf("names the host %s, and no URLs are fetched for calls of this model", host)
	}
	reason := fmt.Sprintf("names the host %s, which is not allowed", host)
	for _, pattern := range hosts {
		if pattern != penstock.MediaPublic {
			if host.Matches(pattern) {
				return ""
			}
			continue
		}
		private := host.CheckPublic()
		if private == nil {
			return ""
		}
		reason = fmt.Sprintf("names the host %s, which is not public", host)
	}
	return reason
}

// inInput names the input that an error is about, where a job has several.
func inInput(err error, index, inputs int) error {
	if inputs == 1 {
		return err
	}
	e, at := *penstock.AsError(err), fmt.Sprintf("inputs[%d].body", index)
	if e.Param == "" { // it is about the whole body
		e.Param, e.Message = at, at+": "+e.Message
		return &e
	}
	e.Param, e.Message = at+"."+e.Param, at+"."+e.Message
	return &e
}
