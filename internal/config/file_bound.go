package config

// Bounds are how much memory bodies on their way may take, and how many calls may stay open, in one process.
type Bounds struct {
	// MaxTenantBodyBytes is how many bytes of request bodies the calls of one tenant may hold at a time. Calls beyond
	// it get 429. At least four times MaxJobBytes, because a body is in memory twice while its pieces are joined. Zero:
	// the default, 268435456 (256 MiB), or four times MaxJobBytes if that is more. Up to 1099511627776 (1 TiB).
	MaxTenantBodyBytes int64 `yaml:"max_tenant_body_bytes"`

	// MaxProcessBodyBytes is the same for all tenants together. Calls beyond it get 503. The last quarter is reserved
	// for tenants that hold few bytes. At least twice MaxTenantBodyBytes. Zero: the default, four times
	// MaxTenantBodyBytes. Up to 1099511627776 (1 TiB).
	MaxProcessBodyBytes int64 `yaml:"max_process_body_bytes"`

	// MaxAnswerBytes is the largest answer of an upstream, plain or streamed. Zero: the default, 67108864 (64 MiB).
	// From 1048576 (1 MiB) to 1073741824 (1 GiB).
	MaxAnswerBytes int64 `yaml:"max_answer_bytes"`

	// MaxTenantAnswerBytes is how many bytes of answers may be in memory for one tenant at a time. Results of its job
	// items count until they are recorded. An answer that does not fit waits, and so does its upstream; after 10
	// seconds it fails. At least four times MaxAnswerBytes. Zero: the default, four times MaxAnswerBytes. Up to
	// 1099511627776 (1 TiB).
	MaxTenantAnswerBytes int64 `yaml:"max_tenant_answer_bytes"`

	// MaxProcessAnswerBytes is the same for all tenants together. At least twice MaxTenantAnswerBytes. Zero: the
	// default, four times MaxTenantAnswerBytes. Up to 1099511627776 (1 TiB).
	MaxProcessAnswerBytes int64 `yaml:"max_process_answer_bytes"`

	// MaxTenantStreams is how many event streams of jobs and responses one tenant may have open at a time, together
	// with its waiting calls (Prefer: wait). Streams of synchronous calls count against concurrency instead. Zero: the
	// default, 4000. From 1 to 1000000.
	MaxTenantStreams int `yaml:"max_tenant_streams"`

	// MaxKeyStreams is the same for one key. Zero: the default, 2500. From 1 to 1000000.
	MaxKeyStreams int `yaml:"max_key_streams"`

	// MaxTenantDownloads is how many downloads of results and files one tenant may have open at a time. Zero: the
	// default, 64. From 1 to 100000.
	MaxTenantDownloads int `yaml:"max_tenant_downloads"`

	// MaxKeyDownloads is the same for one key. Zero: the default, 32. From 1 to 100000.
	MaxKeyDownloads int `yaml:"max_key_downloads"`
}

// The defaults of bounds.
const (
	DefaultTenantBodyBytes = 256 << 20
	DefaultMaxAnswerBytes  = 64 << 20
	DefaultTenantStreams   = 4000
	DefaultKeyStreams      = 2500
	DefaultTenantDownloads = 64
	DefaultKeyDownloads    = 32
)

const (
	minMaxAnswerBytes = 1 << 20
	maxMaxAnswerBytes = 1 << 30
	maxBoundBytes     = 1 << 40
	maxStreams        = 1_000_000
	maxDownloads      = 100_000
	// A body or an answer is held up to twice, and by its reader and its keeper: so many times the largest fit into a
	// tenant's bound at the least.
	heldTimes = 4
	// tenantsAtOnce is how many tenants can fill their bounds before the process's is full, by default.
	tenantsAtOnce = 4
)

func (b *Bounds) fillDefaults(written places, maxJobBytes int64) {
	const at = path("limits.")
	fill(written, at+"max_tenant_body_bytes", &b.MaxTenantBodyBytes, max(DefaultTenantBodyBytes, heldTimes*maxJobBytes))
	fill(written, at+"max_process_body_bytes", &b.MaxProcessBodyBytes, tenantsAtOnce*b.MaxTenantBodyBytes)
	fill(written, at+"max_answer_bytes", &b.MaxAnswerBytes, DefaultMaxAnswerBytes)
	fill(written, at+"max_tenant_answer_bytes", &b.MaxTenantAnswerBytes, heldTimes*b.MaxAnswerBytes)
	fill(written, at+"max_process_answer_bytes", &b.MaxProcessAnswerBytes, tenantsAtOnce*b.MaxTenantAnswerBytes)
	fill(written, at+"max_tenant_streams", &b.MaxTenantStreams, DefaultTenantStreams)
	fill(written, at+"max_key_streams", &b.MaxKeyStreams, DefaultKeyStreams)
	fill(written, at+"max_tenant_downloads", &b.MaxTenantDownloads, DefaultTenantDownloads)
	fill(written, at+"max_key_downloads", &b.MaxKeyDownloads, DefaultKeyDownloads)
}

func (c *checker) bounds(l *Limits) {
	within(c, "limits.max_tenant_body_bytes", l.MaxTenantBodyBytes, bounds[int64]{heldTimes * l.MaxJobBytes, maxBoundBytes})
	within(c, "limits.max_process_body_bytes", l.MaxProcessBodyBytes, bounds[int64]{2 * l.MaxTenantBodyBytes, tenantsAtOnce * maxBoundBytes})
	within(c, "limits.max_answer_bytes", l.MaxAnswerBytes, bounds[int64]{minMaxAnswerBytes, maxMaxAnswerBytes})
	within(c, "limits.max_tenant_answer_bytes", l.MaxTenantAnswerBytes, bounds[int64]{heldTimes * l.MaxAnswerBytes, maxBoundBytes})
	within(c, "limits.max_process_answer_bytes", l.MaxProcessAnswerBytes, bounds[int64]{2 * l.MaxTenantAnswerBytes, tenantsAtOnce * maxBoundBytes})
	within(c, "limits.max_tenant_streams", l.MaxTenantStreams, bounds[int]{1, maxStreams})
	within(c, "limits.max_key_streams", l.MaxKeyStreams, bounds[int]{1, maxStreams})
	within(c, "limits.max_tenant_downloads", l.MaxTenantDownloads, bounds[int]{1, maxDownloads})
	within(c, "limits.max_key_downloads", l.MaxKeyDownloads, bounds[int]{1, maxDownloads})
}
