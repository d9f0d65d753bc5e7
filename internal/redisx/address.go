package redisx

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Kinds of Redis.
const (
	KindEmbedded = "embedded"
	KindSingle   = "single"
	KindSentinel = "sentinel"
	KindCluster  = "cluster"
)

// ErrAddress means that a URL has the wrong form. Every error of Validate wraps it.
var ErrAddress = errors.New("invalid Redis address")

// address is a parsed URL.
type address struct {
	kind     string
	hosts    []string // host:port; empty only for KindEmbedded
	username string
	password string
	tls      bool
	db       int    // number of the database, for KindSingle and KindSentinel
	master   string // name of the master, for KindSentinel
}

// Validate checks the form of a URL without connecting. Errors wrap ErrAddress, say what
// to write instead, and never show a password.
func Validate(rawURL string) error {
	_, err := parseURL(rawURL)
	return err
}

func parseURL(rawURL string) (a address, err error) {
	if rawURL == "" {
		return address{kind: KindEmbedded}, nil
	}
	scheme, rest, found := strings.Cut(rawURL, "://")
	rest = strings.ReplaceAll(rest, ","+scheme+"://", ",") // each address may repeat the scheme
	end := strings.IndexAny(rest+"/", "/?")
	authority, tail := rest[:end], rest[end:]
	path, query, _ := strings.Cut(strings.TrimPrefix(tail, "/"), "?")
	a = address{kind: KindSingle, tls: scheme == "rediss"}
	switch {
	case !found:
		return a, addressError("it has no scheme: write redis://host:port")
	case strings.Contains(tail, "@"):
		return a, errCredentials
	case scheme == "redis+sentinel":
		a.kind = KindSentinel
		a.master, path, _ = strings.Cut(path, "/")
	case scheme != "redis" && scheme != "rediss":
		return a, addressError("unknown scheme %q: write redis://, rediss:// or redis+sentinel://", scheme)
	}
	err = cmp.Or(a.setAuthority(authority), a.setOptions(query), a.setDB(path))
	return a, err
}

// setAuthority reads [user:password@]host[:port][,host[:port]]...
func (a *address) setAuthority(authority string) error {
	credentials, hosts, found := strings.Cut(authority, "@")
	if !found {
		credentials, hosts = "", authority
	}
	if strings.Contains(hosts, "@") {
		return addressError("several addresses share one user and password: write them once, before the first host, an @ in them as %%40")
	}
	// The error of url.Parse would show the password.
	parsed, err := url.Parse("redis://" + credentials + "@host")
	if err != nil || parsed.Host != "host" {
		return errCredentials
	}
	a.username = parsed.User.Username()
	a.password, _ = parsed.User.Password()
	defaultPort := "6379"
	if a.kind == KindSentinel {
		defaultPort = "26379"
	}
	for host := range strings.SplitSeq(hosts, ",") {
		full, err := hostPort(strings.TrimSpace(host), defaultPort)
		if err != nil {
			return err
		}
		a.hosts = append(a.hosts, full)
	}
	return nil
}

// hostPort adds the default port if the host has none.
func hostPort(host, defaultPort string) (string, error) {
	parsed, err := url.Parse("redis://" + host)
	if err != nil || parsed.Hostname() == "" || parsed.Host != host {
		return "", addressError("%q is not an address: write host:port", host)
	}
	port := parsed.Port()
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", addressError("%q has no port between 1 and 65535", host)
	}
	return net.JoinHostPort(parsed.Hostname(), port), nil
}

// setOptions reads the option that selects a cluster.
func (a *address) setOptions(query string) error {
	values, err := url.ParseQuery(query)
	switch {
	case err != nil:
		return addressError("the part after ? does not parse: write ?cluster=true or leave it out")
	case a.kind == KindSentinel && query != "":
		return addressError("redis+sentinel:// takes no options after ?")
	case a.kind == KindSentinel && a.master == "":
		return addressError("the name of the master is missing: write redis+sentinel://host:port,host:port/MASTER")
	case a.kind == KindSingle && (len(a.hosts) > 1 || len(values) > 0):
		a.kind = KindCluster
	}
	for name := range values {
		if name != "cluster" {
			return addressError("unknown option %q: only cluster=true is known", name)
		}
		if values.Get(name) != "true" {
			return addressError("cluster=%q: write cluster=true or leave it out", values.Get(name))
		}
	}
	return nil
}

// setDB reads the number of the database.
func (a *address) setDB(path string) error {
	if path == "" {
		return nil
	}
	db, err := strconv.Atoi(path)
	if err != nil || db < 0 {
		return addressError("%q is not the number of a database: write redis://host:port/0", path)
	}
	if a.kind == KindCluster && db != 0 {
		return addressError("a cluster has only database 0, not %d", db)
	}
	a.db = db
	return nil
}

// String names the servers, without credentials, for errors and logs.
func (a address) String() string {
	switch a.kind {
	case KindEmbedded:
		return "embedded"
	case KindSentinel:
		return fmt.Sprintf("%s via the sentinels %s", a.master, strings.Join(a.hosts, ","))
	}
	return strings.Join(a.hosts, ",")
}

// errCredentials is about a malformed user or password. Its text has no part of them.
var errCredentials = addressError("user and password do not parse: write special characters as %%XX")

func addressError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrAddress, fmt.Sprintf(format, args...))
}
