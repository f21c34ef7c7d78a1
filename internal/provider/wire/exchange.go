package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/trace"
	"penstock/internal/sse"
)

// exchange is one request on its way and the answer to it.
type exchange struct {
	ended  func() error // why the caller's context ended, nil while it has not
	cancel context.CancelFunc
	watch  watchdog
	resp   *http.Response
	body   answerBody
	limits provider.RateLimits
	memory provider.Memory // nil for no bounds
	upload upload
	out    outgoing // until it was answered
	phases struct{ connect, firstToken time.Duration }
	wait   streamWait

	client *Client
	reader Reader
	wanted string
	trace  *trace.Reader

	framing *Framing // nil for server-sent events
}

// send delivers the call and returns when the headers of an answer are there.
func (c *Client) send(ctx context.Context, call *provider.Call, r *Request, apiKey string) (*exchange, error) {
	to, err := c.address(call.Endpoint, r)
	if err != nil {
		return nil, err
	}
	ex := &exchange{ended: ctx.Err, client: c, reader: r.Reader, wanted: r.Wanted, trace: trace.New(call), memory: call.Memory, framing: r.Framing}
	ex.wait.announce = call.Waiting
	ctx, ex.cancel = context.WithCancel(ctx)
	ex.watch.abort = ex.cancel
	ex.watch.begin(call.Deadline)
	header := make(http.Header, usualHeaders)
	setHeader(header, call)
	r.SetHeader(header, apiKey)
	ex.phases.connect, ex.phases.firstToken = call.Timeouts.Connect, call.Timeouts.FirstToken
	ex.upload.pieces = r.Body
	ex.out = outgoing{to: to, header: header, body: &ex.upload, phases: ex}
	ex.resp, err = c.carrier.post(ctx, &ex.out)
	ex.out = outgoing{} // a stream goes on for minutes
	if err != nil {
		ex.close()
		return nil, ex.unanswered(err)
	}
	ex.limits = c.cfg.Limits.Parse(ex.resp.Header, time.Now())
	ex.body = newAnswerBody(ex.resp.Body, c.cfg.MaxAnswerBytes)
	return ex, nil
}

// Connecting implements http1.Phases.
func (ex *exchange) Connecting() { ex.watch.start(phaseConnect, ex.phases.connect) }

// Connected implements http1.Phases.
func (ex *exchange) Connected() { ex.watch.start(phaseFirstToken, ex.phases.firstToken) }

// address is where a call goes.
func (c *Client) address(endpoint penstock.Endpoint, r *Request) (*url.URL, error) {
	to := c.urls[endpoint]
	if to == nil {
		return nil, &provider.Error{Kind: provider.KindInternal,
			Message: fmt.Sprintf("this provider does not serve %s", endpoint)}
	}
	if r.URL == "" {
		return to, nil
	}
	to, err := url.Parse(r.URL)
	if err != nil {
		return nil, &provider.Error{Kind: provider.KindInternal, Message: "the request could not be built", Err: err}
	}
	return to, nil
}

// usualHeaders is the number of headers of an ordinary call.
const usualHeaders = 8

// credentials are the headers with callers' credentials, in canonical form.
var credentials = []string{"Authorization", "X-Api-Key", "Api-Key"}

// The values of headers that are the same for every call. Nothing changes the values of a header, so calls share them.
var (
	acceptPlain  = []string{"application/json"}
	acceptStream = []string{"text/event-stream, application/json"}
	// The caller must get the upstream's bytes, and each event at once. Without this header the transport
	// asks for gzip, which changes the bytes and may delay events.
	acceptEncoding = []string{"identity"}
	contentType    = []string{"application/json"}
	userAgent      = []string{"penstock/" + penstock.Version}
)

// setHeader sets what every protocol has.
func setHeader(h http.Header, call *provider.Call) {
	for name, values := range call.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	h["Accept"] = acceptPlain
	if call.Stream {
		h["Accept"] = acceptStream
	}
	h["Accept-Encoding"], h["Content-Type"], h["User-Agent"] = acceptEncoding, contentType, userAgent
	// Credentials are the provider's or none: a caller's credentials must never be sent upstream.
	for _, name := range credentials {
		h.Del(name)
	}
}

// status is the HTTP status of the answer, 0 while there is none.
func (ex *exchange) status() int {
	if ex.resp == nil {
		return 0
	}
	return ex.resp.StatusCode
}

// close ends the exchange. If the answer was not read to its end, the connection goes with it.
func (ex *exchange) close() {
	ex.watch.close()
	ex.cancel()
	if ex.resp != nil {
		ex.resp.Body.Close()
	}
	ex.upload.close()
}

// roughly rounds a timeout for messages: the time left when a call begins is always a little less than configured.
func roughly(d time.Duration) time.Duration {
	if d > 500*time.Millisecond {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// fail makes an error of this exchange.
func (ex *exchange) fail(kind provider.Kind, cause error, format string, args ...any) *provider.Error {
	return &provider.Error{
		Kind: kind, StatusCode: ex.status(), Message: fmt.Sprintf(format, args...), Limits: ex.limits, Err: cause,
	}
}

// interrupted explains an exchange that our side ended: the caller's context or a watchdog. It
// returns nil if neither did.
func (ex *exchange) interrupted(cause error) *provider.Error {
	if err := ex.ended(); errors.Is(err, context.DeadlineExceeded) {
		return ex.fail(provider.KindTimeout, err, "total: the answer was not complete when its caller's time was over")
	} else if err != nil {
		return ex.fail(provider.KindCancelled, err, "the call was cancelled before the answer was complete")
	}
	phase, limit, expired := ex.watch.state()
	if !expired {
		return nil
	}
	switch phase {
	case phaseTotal:
		return ex.fail(provider.KindTimeout, context.DeadlineExceeded, "%s: the answer was not complete after %s", phase, roughly(limit))
	case phaseConnect:
		// Nothing was sent, so nothing was charged: that makes it a failed connection first.
		return ex.fail(provider.KindConnect, cause, "%s: timed out after %s", phase, limit)
	case phaseFirstToken:
		return ex.fail(provider.KindTimeout, cause, "%s: no answer came within %s", phase, limit)
	default:
		return ex.fail(provider.KindTimeout, cause, "%s: nothing came for %s", phase, limit)
	}
}

// unanswered explains why there is no answer at all.
func (ex *exchange) unanswered(err error) *provider.Error {
	if e := ex.interrupted(err); e != nil {
		return e
	}
	switch phase, _, _ := ex.watch.state(); phase {
	case phaseConnect:
		return ex.fail(provider.KindConnect, err, "connect: %s", connectTrouble(err))
	case phaseFirstToken:
		return ex.fail(provider.KindNetwork, err, "the connection broke before an answer came")
	default:
		return ex.fail(provider.KindInternal, err, "the request could not be sent")
	}
}

// brokeOff explains why the answer cannot be read on.
func (ex *exchange) brokeOff(err error) *provider.Error {
	if e := ex.interrupted(err); e != nil {
		return e
	}
	if full, ok := errors.AsType[*penstock.Error](err); ok {
		return ex.fail(provider.KindMemory, full, "there was no memory for the answer: %s", full.Message)
	}
	if _, ok := errors.AsType[*FramingError](err); ok {
		return ex.fail(provider.KindMalformed, err, "the answer is not %s", ex.wanted)
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return ex.fail(provider.KindMalformed, err, "the answer is larger than %d bytes", tooLarge.Limit)
	}
	if tooLarge, ok := errors.AsType[*sse.TooLargeError](err); ok {
		return ex.fail(provider.KindMalformed, err, "an event of the answer is larger than %d bytes", tooLarge.Limit)
	}
	return ex.fail(provider.KindTruncated, err, "the connection broke before the answer was complete")
}

// connectTrouble says in general terms why there is no connection. Addresses are only in the cause: a
// tenant may see the message.
func connectTrouble(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "the host name could not be resolved"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "timed out"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "refused"
	}
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	if badCertificate || notTLS {
		return "no secure connection could be agreed on"
	}
	return "no connection came about"
}
