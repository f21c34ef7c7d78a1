package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"penstock"
	"penstock/internal/deliver"
	"penstock/internal/directory"
)

// Keys watches for the end of keys, and of other credentials.
type Keys interface {
	// Watch ends a call when the credentials of its request are not accepted any more.
	Watch(c directory.OpenCall, r *http.Request)
	// Unwatch stops watching for a call. After it has returned, the call is not ended.
	Unwatch(c directory.OpenCall)
}

// endWithKey makes a call that may stay open end when its key, or the session of its person, does: its context ends, with the reason as its cause, and
// a blocked write fails soon. Calls without a key are not watched. It may be called twice.
func (c *call) endWithKey() {
	person := c.Principal.Person != nil
	if c.cancel != nil || c.Keys == nil && !person || c.Principal.Key == "" {
		return
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancelCause(c.R.Context())
	c.R = c.R.WithContext(ctx)
	if person {
		c.People.Watch(c, c.R)
		return
	}
	c.Keys.Watch(c, c.R)
}

// End implements directory.OpenCall.
func (c *call) End(why error) {
	c.cancel(why)
	c.W.Hurry()
}

// unwatch ends what endWithKey began.
func (c *call) unwatch() {
	if c.cancel != nil {
		if c.Principal.Person != nil {
			c.People.Unwatch(c)
		} else {
			c.Keys.Unwatch(c)
		}
		c.cancel(nil)
	}
}

// atEnd registers a function that runs when the call is over.
func (c *call) atEnd(do func()) {
	before := c.ends
	c.ends = func() {
		do()
		if before != nil {
			before()
		}
	}
}

// keyEnded is the error of a call whose key, or whose time, ended while it was open; nil if neither did.
func (c *call) keyEnded() error {
	if c.cancel == nil && !c.timed {
		return nil
	}
	if e, ok := errors.AsType[*penstock.Error](context.Cause(c.R.Context())); ok {
		return e
	}
	return nil
}

// wait waits for a job, and returns its state after the wait. Codes: those of deliver.Reader.Wait, and invalid_key when the
// key of the caller ended meanwhile.
func (c *call) wait(job penstock.ID, until deliver.Until) (penstock.Job, error) {
	ctx, cancel := c.waiting()
	defer cancel()
	j, err := c.Reader.Wait(ctx, c.Principal.Tenant.ID, job, until)
	if ended := c.keyEnded(); ended != nil {
		return j, ended
	}
	return j, err
}

// openKind is the reason why a call remains open.
type openKind int

const (
	openStream   openKind = iota // it waits for events of a job, or for its end
	openDownload                 // it reads results or a file
)

// openCalls counts the open calls. The zero value is ready to use.
type openCalls struct {
	mu    sync.Mutex
	count map[opener]int
}

// opener is a tenant, or one of its keys, with a kind of open calls.
type opener struct {
	kind   openKind
	tenant penstock.TenantID
	key    string // "" for all of the tenant's
}

// openBound is how many calls may be open.
type openBound struct{ tenant, key int }

// stayOpen counts a call as open until its end, and makes it end with its key. Handlers call it before they write or
// accept anything. Codes: rate_limited.
func (c *call) stayOpen(kind openKind) error {
	limits := c.Config.Current().Process.Limits
	most, name := openBound{limits.MaxTenantStreams, limits.MaxKeyStreams}, "event streams and waiting calls"
	if kind == openDownload {
		most, name = openBound{limits.MaxTenantDownloads, limits.MaxKeyDownloads}, "downloads"
	}
	leave, scope := c.opened.admit(opener{kind, c.Principal.Tenant.ID, c.Principal.Key}, most)
	if leave == nil {
		who, n := fmt.Sprintf("Tenant %s", c.Principal.Tenant.ID), most.tenant
		if scope == scopeKey {
			who, n = fmt.Sprintf("Key %s of tenant %s", c.Principal.Key, c.Principal.Tenant.ID), most.key
		}
		c.Metrics.LimitRefused(string(c.Principal.Tenant.ID), scope, openResources[kind])
		return penstock.Errorf(penstock.CodeRateLimited, "%s has %d %s open on this process, which is the maximum; close one, or wait until one ends.", who, n, name)
	}
	c.atEnd(leave)
	c.endWithKey()
	return nil
}

// openResources are the names of the bounded resources in metrics.
var openResources = map[openKind]string{openStream: "streams", openDownload: "downloads"}

// The names of the bounds' scopes in metrics.
const scopeTenant, scopeKey = "tenant", "key"

// admit counts an open call, or returns the opener that has too many.
func (o *openCalls) admit(by opener, most openBound) (leave func(), full string) {
	all := by
	all.key = ""
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.count[all] >= most.tenant:
		return nil, scopeTenant
	case by.key != "" && o.count[by] >= most.key:
		return nil, scopeKey
	}
	if o.count == nil {
		o.count = map[opener]int{}
	}
	o.add(all, 1)
	if by.key != "" {
		o.add(by, 1)
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.add(all, -1)
		if by.key != "" {
			o.add(by, -1)
		}
	}, ""
}

func (o *openCalls) add(by opener, n int) {
	if o.count[by] += n; o.count[by] == 0 {
		delete(o.count, by)
	}
}
