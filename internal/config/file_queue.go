package config

import (
	"math"
	"time"

	"penstock"
)

// Queue are the bounds on queued work. All processes share one queue, and the bounds apply to it as a whole. A reload
// changes the bounds; work that is already queued stays.
type Queue struct {
	// MaxItems is how many items may be queued in all. Submits beyond it get 503. Zero: the default, 10000000. From 1
	// to 1000000000.
	MaxItems int64 `yaml:"max_items"`

	// MaxBytes is the largest total size of their inputs. Submits beyond it get 503. Zero: the default, 68719476736 (64
	// GiB). From 1024 to 1125899906842624 (1 PiB).
	MaxBytes int64 `yaml:"max_bytes"`

	// TenantMaxItems is how many items a tenant may have queued, if the tenant has no limit of its own. Submits beyond
	// it get 429. Zero: the default, 1000000, or MaxItems if that is less. From 1 to MaxItems.
	TenantMaxItems int64 `yaml:"tenant_max_items"`

	// TenantMaxBytes is the largest total size of their inputs. Submits beyond it get 429. Zero: the default,
	// 17179869184 (16 GiB), or MaxBytes if that is less. From 1024 to MaxBytes.
	TenantMaxBytes int64 `yaml:"tenant_max_bytes"`
}

// TenantLimits are the limits of one tenant.
type TenantLimits struct {
	// QueuedItems is how many items it may have queued. Zero: the default, queue.tenant_max_items. From 1
	// to queue.max_items.
	QueuedItems int64 `yaml:"queued_items"`

	// QueuedBytes is the largest total size of their inputs. Zero: the default, queue.tenant_max_bytes. From 1024 to
	// queue.max_bytes.
	QueuedBytes int64 `yaml:"queued_bytes"`

	// EnqueuedTokens is how many tokens its queued items may have together, by their upper bounds: one token for each
	// byte of a body, and the output bound of the body. Zero: no such bound. Up to 1000000000000000.
	EnqueuedTokens int64 `yaml:"enqueued_tokens,omitempty"`

	// StoredBytes is how many bytes it may have stored: the inputs and results of its jobs, stored responses and
	// batches included, and its files. Uploads and submits beyond it are refused; accepted work still finishes. Zero:
	// no such bound. Up to 1125899906842624 (1 PiB).
	StoredBytes int64 `yaml:"stored_bytes,omitempty"`

	RateLimits `yaml:",inline"`

	// Models are the limits of its calls for single models, by their public names. They apply in addition to its own
	// limits. Zero: none.
	Models map[string]RateLimits `yaml:"models,omitempty"`
}

// Lanes are the weight and the objective of each lane.
type Lanes struct {
	Realtime Lane `yaml:"realtime"`
	Standard Lane `yaml:"standard"`
	Bulk     Lane `yaml:"bulk"`
}

// Lane is the weight and the objective of one lane.
type Lane struct {
	// Weight is the lane's share of the slots while other lanes have work too. Zero: the default, 64 for
	// realtime, 8 for standard, 1 for bulk. From 1 to 1000.
	Weight int64 `yaml:"weight"`

	// SLOWait is how long an item of the lane should wait at most before it starts. penstock_slo_good_total measures
	// it, and penstock_desired_slots is computed from it. No item is refused or delayed because of it. Zero: the
	// default, 1s for realtime, 1m for standard, 1h for bulk. From 1ms to 720h.
	SLOWait time.Duration `yaml:"slo_wait"`
}

// Of returns the settings of a lane.
func (l *Lanes) Of(lane penstock.Lane) *Lane {
	switch lane {
	case penstock.LaneRealtime:
		return &l.Realtime
	case penstock.LaneStandard:
		return &l.Standard
	}
	return &l.Bulk
}

// The defaults of queue and lanes.
const (
	DefaultQueueItems       = 10_000_000
	DefaultQueueBytes       = 64 << 30
	DefaultTenantQueueItems = 1_000_000
	DefaultTenantQueueBytes = 16 << 30
)

func defaultLane(lane penstock.Lane) Lane {
	switch lane {
	case penstock.LaneRealtime:
		return Lane{Weight: 64, SLOWait: time.Second}
	case penstock.LaneStandard:
		return Lane{Weight: 8, SLOWait: time.Minute}
	}
	return Lane{Weight: 1, SLOWait: time.Hour}
}

func (q *Queue) fillDefaults(written places) {
	fill(written, "queue.max_items", &q.MaxItems, DefaultQueueItems)
	fill(written, "queue.max_bytes", &q.MaxBytes, DefaultQueueBytes)
	fill(written, "queue.tenant_max_items", &q.TenantMaxItems, min(DefaultTenantQueueItems, orMost(q.MaxItems)))
	fill(written, "queue.tenant_max_bytes", &q.TenantMaxBytes, min(DefaultTenantQueueBytes, orMost(q.MaxBytes)))
}

// orMost is a bound that a default yields to, unless it makes no sense itself.
func orMost(n int64) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	return n
}

func (l *TenantLimits) fillDefaults(written places, at path, q Queue) {
	l.RateLimits.fillDefaults(written, at)
	for name, m := range l.Models {
		m.fillDefaults(written, (at + ".models").key(name))
		l.Models[name] = m
	}
	fill(written, at+".queued_items", &l.QueuedItems, q.TenantMaxItems)
	fill(written, at+".queued_bytes", &l.QueuedBytes, q.TenantMaxBytes)
}

func (l *Lanes) fillDefaults(written places) {
	for _, lane := range penstock.Lanes {
		at, byDefault := path("lanes").key(string(lane)), defaultLane(lane)
		fill(written, at+".weight", &l.Of(lane).Weight, byDefault.Weight)
		fill(written, at+".slo_wait", &l.Of(lane).SLOWait, byDefault.SLOWait)
	}
}

// The bounds of queue and lanes.
const (
	maxQueueItems = 1_000_000_000
	minQueueBytes = 1 << 10
	maxQueueBytes = 1 << 50
	minSLOWait    = time.Millisecond
	maxSLOWait    = 720 * time.Hour
)

func (c *checker) queue(q Queue, tenants map[string]TenantConfig) {
	within(c, "queue.max_items", q.MaxItems, bounds[int64]{1, maxQueueItems})
	within(c, "queue.max_bytes", q.MaxBytes, bounds[int64]{minQueueBytes, maxQueueBytes})
	c.inside("queue.tenant_max_items", q.TenantMaxItems, 1, holder{"queue.max_items", q.MaxItems})
	c.inside("queue.tenant_max_bytes", q.TenantMaxBytes, minQueueBytes, holder{"queue.max_bytes", q.MaxBytes})
	for id, t := range tenants {
		at := path("tenants").key(id).key("limits")
		if t.Limits.QueuedItems != q.TenantMaxItems { // else the problem was reported already
			c.inside(at+".queued_items", t.Limits.QueuedItems, 1, holder{"queue.max_items", q.MaxItems})
		}
		if t.Limits.QueuedBytes != q.TenantMaxBytes {
			c.inside(at+".queued_bytes", t.Limits.QueuedBytes, minQueueBytes, holder{"queue.max_bytes", q.MaxBytes})
		}
	}
}

// holder is a bound that bounds another.
type holder struct {
	at   path
	most int64
}

// inside checks a bound against the one that holds it. Where that one is no good itself, its own problem
// is enough.
func (c *checker) inside(at path, v, least int64, h holder) {
	switch {
	case v < least:
		c.fail(at, "must be at least %d, not %d", least, v)
	case v > h.most && h.most > 0 && !c.broken[h.at]:
		c.fail(at, "must not be more than %s, which is %d", h.at, h.most)
	}
}

func (c *checker) lanes(l *Lanes) {
	for _, lane := range penstock.Lanes {
		at := path("lanes").key(string(lane))
		within(c, at+".weight", l.Of(lane).Weight, bounds[int64]{1, maxWeight})
		within(c, at+".slo_wait", l.Of(lane).SLOWait, bounds[time.Duration]{minSLOWait, maxSLOWait})
	}
}

// QueueLimits are the limits of a tenant's queue. One that is not configured any more has those of all.
func (s *Snapshot) QueueLimits(id penstock.TenantID) TenantLimits {
	if t, ok := s.file.Tenants[string(id)]; ok {
		return t.Limits
	}
	return TenantLimits{QueuedItems: s.Queue.TenantMaxItems, QueuedBytes: s.Queue.TenantMaxBytes}
}
