package postgres

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// CheckURL reads the URL of a database as Open does, and the files that it names, without connecting. The error never
// shows the URL. suggest completes a message about a name with the known name that was probably meant, "" if none is near.
func CheckURL(at string, suggest func(name string, known []string) string) error {
	u, err := url.Parse(at)
	// After a slash or a number sign, the rest of a password and the host are read as a path or as a fragment.
	if err != nil || strings.Contains(u.Path+u.Fragment, "@") {
		return errors.New("cannot be read as a URL; percent-encode characters such as @, :, /, # and % in the password")
	}
	if _, err := pgxpool.ParseConfig(at); err != nil {
		reason := errors.Unwrap(err) // the error itself repeats the URL
		if reason == nil {
			return errors.New("cannot be read by the driver; it must look like postgres://user:password@host:5432/name?sslmode=verify-full")
		}
		return fmt.Errorf("cannot be used: %w; correct the options after the question mark", reason)
	}
	if name := u.EscapedPath(); name == "" || name == "/" {
		return errors.New("names no database; add its name, as in postgres://user:password@host:5432/name")
	}
	return checkParameters(u.Query(), suggest)
}

// parameters are the names that the driver reads from the URL. The driver sends all others to the server, as settings of
// the session.
var parameters = []string{
	"host", "port", "dbname", "database", "user", "password", "passfile", "connect_timeout", "sslmode", "sslkey", "sslcert", "sslrootcert", "sslnegotiation", "sslpassword",
	"sslsni", "krbspn", "krbsrvname", "target_session_attrs", "service", "servicefile", "min_protocol_version", "max_protocol_version", "channel_binding", "require_auth",
	"statement_cache_capacity", "description_cache_capacity", "default_query_exec_mode", "pool_max_conns", "pool_min_conns", "pool_min_idle_conns", "pool_max_conn_lifetime",
	"pool_max_conn_idle_time", "pool_health_check_period", "pool_max_conn_lifetime_jitter", "pool_ping_timeout",
}

// settings are the settings of a session that URLs often have; a name near one of them is a mistake too.
var settings = []string{"application_name", "options", "search_path", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "timezone", "client_encoding", "role"}

// checkParameters refuses near misses of known names. The server would refuse them at the first connection only, and a
// misspelt sslmode would leave the connection without the protection that was meant until then.
func checkParameters(query url.Values, suggest func(name string, known []string) string) error {
	known := slices.Concat(parameters, settings)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		lower := strings.ToLower(name)
		switch hint := suggest(lower, known); {
		case slices.Contains(parameters, name), slices.Contains(settings, lower): // PostgreSQL takes its settings in any case
		case hint != "":
			return fmt.Errorf("has the unknown parameter %q%s", name, hint)
		}
	}
	return nil
}
