package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"penstock"
	"penstock/internal/dial"
	"penstock/internal/telemetry"
)

const (
	// maxAnswerBytes is how much of an answer is read, so that its connection can be used again.
	maxAnswerBytes = 16 << 10
)

// deliver makes one attempt and records its result.
func (r *Runner) deliver(ctx context.Context, c *DeliveryClaim) {
	ctx, span := r.startSpan(ctx, c)
	report := r.attempt(ctx, c)
	endSpan(span, report)
	report.Delivery, report.Fence = c.ID, c.Fence
	report.Breaker = Breaker{Rest: rest, DisableAfter: DisableAfter}
	r.Metrics.WebhookAttempt(string(report.Outcome), report.Try.Took)

	// The result of a sent message must be recorded also when the process is about to stop.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	verdict, err := r.Outbox.FinishDelivery(ctx, report)
	log := r.Log.With("delivery", penstock.ViewDelivery.Format(c.ID))
	switch {
	case err != nil:
		log.ErrorContext(ctx, "recording a webhook's delivery; it will be sent again", "error", err)
	case verdict.Disabled:
		r.Metrics.WebhookDisabled()
		log.WarnContext(ctx, "disabled a webhook", "webhook", penstock.ViewWebhook.Format(c.Webhook), "failures", verdict.Failures)
	case report.Outcome == OutcomeFailed:
		log.WarnContext(ctx, "gave up a webhook's delivery", "attempts", c.Attempts+1, "error", report.Try.Error)
	}
}

// startSpan begins the span of an attempt, within the trace of the event.
func (r *Runner) startSpan(ctx context.Context, c *DeliveryClaim) (context.Context, telemetry.Span) {
	ctx = telemetry.WithIDs(telemetry.WithTraceParent(ctx, c.TraceParent), telemetry.IDs{Tenant: c.Tenant, Job: c.Job})
	if !r.Tracer.Enabled() {
		return ctx, telemetry.Span{}
	}
	attrs := []telemetry.Attr{
		telemetry.String("penstock.delivery_id", penstock.ViewDelivery.Format(c.ID)), telemetry.String("penstock.event", string(c.Type)),
		telemetry.Int("penstock.delivery_attempt", int64(c.Attempts+1)), telemetry.String("http.request.method", http.MethodPost),
	}
	if at, err := url.Parse(c.URL); err == nil {
		attrs = append(attrs, telemetry.String("server.address", at.Hostname())) // the rest of the URL may carry a token
	}
	return r.Tracer.StartClient(ctx, "deliver webhook", attrs...)
}

func endSpan(span telemetry.Span, report DeliveryReport) {
	if report.Try.StatusCode != 0 {
		span.Set(telemetry.Int("http.response.status_code", int64(report.Try.StatusCode)))
	}
	if report.Outcome != OutcomeDelivered {
		span.Fail(string(report.Outcome))
	}
	span.End(nil)
}

// attempt sends a message and decides what follows.
func (r *Runner) attempt(ctx context.Context, c *DeliveryClaim) DeliveryReport {
	if c.Refused != "" {
		return DeliveryReport{Outcome: OutcomeVoid, Reason: c.Refused}
	}
	began := r.Clock()
	var answer answered
	err := c.Err
	if err != nil {
		r.Log.ErrorContext(ctx, "signing a webhook", "delivery", penstock.ViewDelivery.Format(c.ID), "error", err)
		err = errUnsigned
	} else {
		answer, err = r.send(ctx, c)
	}
	if err != nil {
		// Addresses, resolvers and certificates are for the operator. The endpoint's owner reads the rest.
		r.Log.InfoContext(ctx, "an attempt at a webhook's delivery failed", "delivery", penstock.ViewDelivery.Format(c.ID), "tenant", c.Tenant, "error", withoutURL(err))
	}
	try := penstock.DeliveryTry{At: began, Took: r.Clock().Sub(began), StatusCode: answer.status, Error: explain(err, r.Timeout)}
	if err != nil && ctx.Err() != nil {
		return DeliveryReport{Outcome: OutcomeRelease, Try: try} // cut off by our own stop
	}
	return judge(c.Round+1, answer, try)
}

// publicError is an error that the owner of an endpoint may read as it is.
type publicError string

func (e publicError) Error() string { return string(e) }

const errUnsigned = publicError("the secret could not be read; ask the operator to look into the log")

// judge decides what follows from an attempt.
func judge(attempts int, a answered, try penstock.DeliveryTry) DeliveryReport {
	report := DeliveryReport{Try: try}
	if try.Error == "" {
		report.Outcome = OutcomeDelivered
		return report
	}
	in, again := wait(attempts)
	switch {
	case a.status == http.StatusGone:
		report.Outcome, report.Reason = OutcomeGone, "the receiver answered 410 Gone: it wants no more"
	case again:
		report.Outcome, report.RetryIn = OutcomeRetry, max(in, a.retryAfter)
	default:
		report.Outcome, report.Reason = OutcomeFailed, fmt.Sprintf("gave up after %d attempts: %s", attempts, try.Error)
	}
	return report
}

// answered is the answer of a receiver, zero when there was none.
type answered struct {
	status     int
	retryAfter time.Duration
}

// send makes the call. Every answer but a timely 2xx is an error.
func (r *Runner) send(ctx context.Context, c *DeliveryClaim) (a answered, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(c.Body))
	if err != nil {
		return a, err
	}
	id, at := penstock.ViewEvent.Format(c.Event), r.Clock()
	h := request.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "Penstock/"+penstock.Version)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("webhook-signature", signatures(c.Secrets, signed{id, at, c.Body}))
	request.Header = telemetry.Inject(ctx, h)
	answer, err := r.Client.Do(request)
	if err != nil {
		return a, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswerBytes) // only the status counts
	a.status = answer.StatusCode
	switch {
	case a.status >= 200 && a.status < 300:
		return a, nil
	case a.status >= 300 && a.status < 400:
		return a, publicError(fmt.Sprintf("answered %d: redirects are not followed, change the URL instead", a.status))
	case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable:
		a.retryAfter = retryAfter(answer.Header, r.Clock())
	}
	return a, publicError(fmt.Sprintf("answered %d", a.status))
}

// retryAfter is the wait that the receiver asks for, within bounds.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	d := time.Duration(0)
	if n, err := strconv.Atoi(text); err == nil {
		d = time.Duration(min(max(n, 0), int(MaxRetryAfter.Seconds()))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), MaxRetryAfter)
}

// withoutURL is an error without the URL around it, which may carry a token.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// explain words an error for the owner of the endpoint. It names nothing that the owner did not write: the address that a
// host resolves to, and the resolver, belong to the operator's network.
func explain(err error, timeout time.Duration) string {
	if err == nil {
		return ""
	}
	if refusal, ok := errors.AsType[*dial.Refusal](err); ok {
		return "refused: " + refusal.Public() + ". An operator can allow it by webhooks.allow"
	}
	if public, ok := errors.AsType[publicError](err); ok {
		return string(public)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "the host name could not be resolved"
	}
	if e, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok && e.Timeout() {
		return fmt.Sprintf("no answer within %s", timeout)
	}
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	switch {
	case badCertificate:
		return "the certificate of the host is not trusted, or not for this host"
	case notTLS || alert:
		return "no secure connection could be agreed on"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection broke before an answer came"
	}
	return "no answer could be had; the operator's log says more"
}
