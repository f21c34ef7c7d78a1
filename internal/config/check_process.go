package config

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func (c *checker) process(p *Process) {
	c.address("listen", p.Listen)
	c.address("admin_listen", p.AdminListen)
	if p.PublicURL != "" {
		c.httpURL("public_url", p.PublicURL)
	}
	if p.Listen == p.AdminListen && !strings.HasSuffix(p.Listen, ":0") {
		c.fail("admin_listen", "must differ from listen; the default is %s", DefaultAdminListen)
	}
	if p.Data == "" {
		c.fail("data", "must name a directory")
	}
	oneOf(c, "environment", p.Environment, []string{EnvironmentProduction, EnvironmentStaging, EnvironmentDev})
	c.cors(p.CORS)
	c.signIn(&p.SignIn)
	c.console(p.Console)
	c.database(p.Database)
	c.admin(p.Admin)
	c.blobs(p.Blobs.S3)
	oneOf(c, "log.level", p.Log.Level, []string{"debug", "info", "warn", "error"})
	oneOf(c, "log.format", p.Log.Format, []string{"json", "text"})
	within(c, "shutdown_grace", p.ShutdownGrace, bounds[time.Duration]{time.Second, maxShutdownGrace})
	if _, err := p.Disk.floor(); err != nil {
		c.fail("disk.min_free", "%v", err)
	}
	c.tls("tls", p.TLS)
	c.tls("admin.tls", p.Admin.TLS)
	c.tracing(p.Tracing)
	within(c, "work.slots", p.Work.Slots, bounds[int]{1, maxSlots})
	within(c, "work.suspects", p.Work.Suspects, bounds[int]{1, maxSuspects})
	lease := bounds[time.Duration]{minLeaseTimeout, maxLeaseTimeout}
	within(c, "work.lease_timeout", p.Work.LeaseTimeout, lease)
	if within(c, "work.poll_interval", p.Work.PollInterval, bounds[time.Duration]{minPollInterval, maxLeaseTimeout}) {
		c.notLonger("work.poll_interval", p.Work.PollInterval, "work.lease_timeout", p.Work.LeaseTimeout)
	}
	within(c, "limits.max_body_bytes", p.Limits.MaxBodyBytes, bounds[int64]{minMaxBodyBytes, maxMaxBodyBytes})
	within(c, "limits.max_job_bytes", p.Limits.MaxJobBytes, bounds[int64]{minMaxJobBytes, maxMaxJobBytes})
	c.cache("cache", p.Cache)
	within(c, "limits.max_json_depth", p.Limits.MaxJSONDepth, bounds[int]{minMaxJSONDepth, maxMaxJSONDepth})
	within(c, "limits.max_file_bytes", p.Limits.MaxFileBytes, bounds[int64]{minMaxFileBytes, maxMaxFileBytes})
	c.bounds(&p.Limits)
	c.webhooks(p.Webhooks)
}

// maxOrigins bounds the origins, each of which is compared with that of a call.
const maxOrigins = 100

func (c *checker) cors(o CORS) {
	if len(o.Origins) > maxOrigins {
		c.fail("cors.origins", "has %d entries; at most %d are allowed", len(o.Origins), maxOrigins)
	}
	for i, origin := range o.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.ToLower(origin) != origin || strings.Contains(origin, "*") {
			c.fail(path("cors.origins").index(i), "must be an origin such as https://app.example.com, in lower case, without a path and without a wildcard")
		}
	}
	eachOnce(c, "cors.origins", o.Origins)
}

func (c *checker) admin(a Admin) {
	owners := map[keyDigest]path{}
	if !a.Key.IsZero() {
		c.keySecret("admin.key", a.Key, owners)
	}
	if !a.MetricsKey.IsZero() {
		c.keySecret("admin.metrics_key", a.MetricsKey, owners)
	}
	for i, host := range a.Hosts {
		if !hostName.MatchString(host) {
			c.fail(path("admin.hosts").index(i), "%s must be a host name in lower case, without a port", quote(host))
		}
	}
	eachOnce(c, "admin.hosts", a.Hosts)
}

var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

func (c *checker) address(at path, s string) {
	host, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || strings.ContainsAny(host, " /") {
		c.fail(at, `must look like "127.0.0.1:8080", not %s`, quote(s))
	}
}

// database shows nothing of the URL, and neither would an error of url.Parse be safe to show.
func (c *checker) database(s Secret) {
	if s.IsZero() {
		return
	}
	u, err := url.Parse(s.Reveal())
	// A server on this machine may be named by the directory of its socket: postgres:///name?host=/run.
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && !u.Query().Has("host") {
		c.fail("database", `must be a URL that looks like "postgres://user:${PASSWORD}@host:5432/name"; percent-encode special characters in the password`)
	}
}

func (c *checker) tracing(t Tracing) {
	if t.OTLPEndpoint == "" {
		if t.SampleRatio != 0 {
			c.fail("tracing.sample_ratio", "has no effect without tracing.otlp_endpoint: add that, or remove this")
		}
		return
	}
	c.httpURL("tracing.otlp_endpoint", t.OTLPEndpoint)
	if r := t.SampleRatio; !(r > 0 && r <= 1) {
		c.fail("tracing.sample_ratio", "must be above 0 and at most 1, not %v; to turn tracing off, remove otlp_endpoint", r)
	}
}

// httpURL allows no part of a URL that could carry a secret, since URLs are shown and hashed.
func (c *checker) httpURL(at path, s string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		c.fail(at, "must be an http or https URL, such as https://llm.example.com/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		c.fail(at, "must have no user, password, query or fragment: do not put secrets into a URL")
	}
}
