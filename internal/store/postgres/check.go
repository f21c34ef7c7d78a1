package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// CheckURL reads the URL of a database as Open does, and the files that it names, without connecting. The error never
// shows the URL.
func CheckURL(at string) error {
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
	return nil
}
