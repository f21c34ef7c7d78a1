// Package webhook sends events to external receivers: it manages the endpoints of tenants, and delivers the outbox to
// them, signed according to the Standard Webhooks specification.
//
// It owns the rules of endpoints, the signature, the schedule of attempts, and the policy of breakers. It does not
// decide which events exist: a package that changes something publishes its event through package outbox, in the
// transaction of the change. Package webhooksql stores endpoints and deliveries. A message is delivered at least once,
// and every attempt at it carries the same id.
//
// Invariants: an attempt is made only under a claim, and its result is recorded only while the claim holds. No receiver
// has more than [PerReceiver] attempts in flight in a process and no tenant more than [PerTenant], so that a receiver
// that hangs does not delay others. Package dial decides which addresses may be connected to.
//
// A Service and a Runner are safe for concurrent use.
package webhook

import (
	"context"
	"crypto/rand"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"penstock"
	"penstock/internal/dial"
)

const (
	// Overlap is how long a secret still signs after it was replaced.
	Overlap = 24 * time.Hour
	// MaxURLBytes bounds the URL of a receiver.
	MaxURLBytes = 2048
	// MaxDescriptionBytes bounds the description of an endpoint.
	MaxDescriptionBytes = 256

	secretBytes = 32
)

// ServiceDeps are what a Service works with.
type ServiceDeps struct {
	Store  Endpoints
	Policy dial.Policy
	Wake   func() // wakes the runner: the outbox has a new delivery
	Clock  func() time.Time
}

// Service manages the endpoints of tenants.
type Service struct {
	ServiceDeps
	ids penstock.IDs
}

// NewService returns a service.
func NewService(d ServiceDeps) *Service { return &Service{ServiceDeps: d} }

// Order is the endpoint that a caller asks for, or a change of one. Nil fields were not given.
type Order struct {
	URL         *string
	Description *string
	Events      []penstock.EventType
	Enabled     *bool
}

// Create adds an endpoint and returns it with its secret, which is never shown again. Without events it is subscribed
// to every type. Codes: invalid_request, conflict (there are too many).
func (s *Service) Create(ctx context.Context, caller penstock.Principal, o Order) (penstock.Webhook, string, error) {
	if o.URL == nil {
		return penstock.Webhook{}, "", penstock.InvalidParam("url", "url is missing; give the URL that receives the events.")
	}
	if o.Events == nil {
		o.Events = slices.Clone(penstock.WebhookEvents)
	}
	if err := s.check(o); err != nil {
		return penstock.Webhook{}, "", err
	}
	n := NewEndpoint{ID: s.ids.New(s.Clock()), URL: *o.URL, Events: o.Events, Secret: newSecret(), Actor: caller.Actor()}
	if o.Description != nil {
		n.Description = *o.Description
	}
	w, err := s.Store.Create(ctx, caller.Tenant.ID, n)
	return w, FormatSecret(n.Secret), err
}

// List returns a page of endpoints, oldest first.
func (s *Service) List(ctx context.Context, tenant penstock.TenantID, p Page) ([]penstock.Webhook, error) {
	return s.Store.List(ctx, tenant, p)
}

// Endpoint returns one endpoint. Codes: not_found.
func (s *Service) Endpoint(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Webhook, error) {
	return s.Store.Endpoint(ctx, tenant, id)
}

// Change changes an endpoint. Codes: invalid_request, not_found, conflict (it was changed meanwhile).
func (s *Service) Change(ctx context.Context, caller penstock.Principal, of Ref, o Order) (penstock.Webhook, error) {
	if err := s.check(o); err != nil {
		return penstock.Webhook{}, err
	}
	return s.Store.Change(ctx, caller.Tenant.ID, Change{
		Ref: of, URL: o.URL, Description: o.Description, Events: o.Events, Enabled: o.Enabled, Actor: caller.Actor(),
	})
}

// Rotated is a new secret, and until when the previous one signs too.
type Rotated struct {
	Secret   string
	OldUntil time.Time // zero if there was none
}

// Rotate gives an endpoint a new secret, or without an id the tenant, whose secret signs the messages of single jobs'
// webhooks. Codes: not_found, conflict (it was changed meanwhile).
func (s *Service) Rotate(ctx context.Context, caller penstock.Principal, of Ref) (Rotated, error) {
	secret := newSecret()
	until, err := s.Store.RotateSecret(ctx, caller.Tenant.ID, Rotation{Webhook: of, Secret: secret, Overlap: Overlap, Actor: caller.Actor()})
	return Rotated{FormatSecret(secret), until}, err
}

// Delete removes an endpoint. Codes: not_found, conflict (it was changed meanwhile).
func (s *Service) Delete(ctx context.Context, caller penstock.Principal, of Ref) error {
	return s.Store.Delete(ctx, caller.Tenant.ID, Removal{Ref: of, Actor: caller.Actor()})
}

// Test sends a webhook.test to an endpoint. Codes: not_found, conflict.
func (s *Service) Test(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Delivery, error) {
	defer s.Wake()
	return s.Store.Test(ctx, tenant, id)
}

// Deliveries returns a page of deliveries, newest first. Codes: not_found.
func (s *Service) Deliveries(ctx context.Context, tenant penstock.TenantID, p DeliveryPage) (found []penstock.Delivery, next penstock.ID, err error) {
	return s.Store.Deliveries(ctx, tenant, p)
}

// Delivery returns one delivery. Codes: not_found.
func (s *Service) Delivery(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Delivery, error) {
	return s.Store.Delivery(ctx, tenant, id)
}

// Redeliver sends a message again. Codes: not_found, conflict.
func (s *Service) Redeliver(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Delivery, error) {
	defer s.Wake()
	return s.Store.Redeliver(ctx, tenant, id)
}

// CheckJob checks the webhook of a single job and returns the types of events that it is sent: of none given, the
// job's end. Codes: invalid_request.
func (s *Service) CheckJob(url string, events []penstock.EventType) ([]penstock.EventType, error) {
	if events == nil {
		events = []penstock.EventType{penstock.EventJobFinished}
	}
	if err := s.checkURL("webhook.url", url); err != nil {
		return nil, err
	}
	return events, checkEvents("webhook.events", events, []penstock.EventType{penstock.EventJobStarted, penstock.EventJobFinished})
}

func (s *Service) check(o Order) error {
	if o.URL != nil {
		if err := s.checkURL("url", *o.URL); err != nil {
			return err
		}
	}
	if d := o.Description; d != nil && (len(*d) > MaxDescriptionBytes || !printable(*d)) {
		return penstock.InvalidParam("description", "description must be printable text of at most %d bytes.", MaxDescriptionBytes)
	}
	if o.Events != nil {
		return checkEvents("events", o.Events, penstock.WebhookEvents)
	}
	return nil
}

// checkURL refuses a URL that could never be delivered to. A host name is checked again at each connection, by the
// address that it resolves to.
func (s *Service) checkURL(param, text string) error {
	u, err := url.Parse(text)
	switch {
	case len(text) > MaxURLBytes || !printable(text):
		return penstock.InvalidParam(param, "%s must be a URL of at most %d bytes.", param, MaxURLBytes)
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return penstock.InvalidParam(param, "%s must be an https URL such as https://app.example/hook.", param)
	case u.User != nil || u.Fragment != "":
		return penstock.InvalidParam(param, "%s must hold no user, password or fragment; messages are signed instead.", param)
	}
	check := s.Policy.Check
	if u.Scheme == "http" {
		if check = s.Policy.CheckPlain; !s.Policy.PlainHTTP && len(s.Policy.Allow) == 0 {
			return penstock.InvalidParam(param, "%s must use https; plain http is not allowed here.", param)
		}
	}
	addr, ok := hostOf(u)
	if !ok || !portFits(u) {
		return penstock.InvalidParam(param, "%s must name a host and a port that exist: an address as it is usually written, or a name in ASCII, such as https://xn--bcher-kva.example.", param)
	}
	if addr.IsValid() {
		if err := check(addr); err != nil {
			return penstock.InvalidParam(param, "%s cannot be delivered to: %v. An operator can allow it by webhooks.allow.", param, err)
		}
	}
	return nil
}

func checkEvents(param string, events, known []penstock.EventType) error {
	if len(events) == 0 || len(events) > len(known) {
		return penstock.InvalidParam(param, "%s must name one or more of %s, each once.", param, eventNames(known))
	}
	for i, e := range events {
		if !slices.Contains(known, e) || slices.Contains(events[:i], e) {
			return penstock.InvalidParam(param, "%s must name one or more of %s, each once.", param, eventNames(known))
		}
	}
	return nil
}

func eventNames(known []penstock.EventType) string {
	names := make([]string, len(known))
	for i, e := range known {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func newSecret() []byte {
	secret := make([]byte, secretBytes)
	rand.Read(secret) // never fails: crypto/rand aborts the process instead
	return secret
}
