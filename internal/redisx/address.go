package redisx

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// The kinds of Redis that a Conn may have.
const (
	KindEmbedded = "embedded"
	KindSingle   = "single"
	KindSentinel = "sentinel"
	KindCluster  = "cluster"
)

// ErrAddress is what every error about the form of a URL wraps.
var ErrAddress = errors.New("invalid Redis address")

// address is a URL taken apart.
type address struct {
	kind     string
	hosts    []string // host:port, at least one but for embedded
	username string
	password string
	tls      bool
	db       int    // single and sentinel
	master   string // sentinel
}

// Validate reports what is wrong with the form of a URL, without connecting.
// Errors wrap ErrAddress, say what to write instead and never show a password.
func Validate(rawURL string) error {
	_, err := parse(rawURL)
	return err
}

func parse(rawURL string) (address, error) {
	if rawURL == "" {
		return address{kind: KindEmbedded}, nil
	}
	scheme, rest, found := strings.Cut(rawURL, "://")
	if !found {
		return address{}, bad("it has no scheme: write redis://host:port")
	}
	rest = strings.ReplaceAll(rest, ","+scheme+"://", ",") // each address may repeat it
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	if strings.Contains(tail, "@") {
		return address{}, errCredentials
	}
	path, query, _ := strings.Cut(strings.TrimPrefix(tail, "/"), "?")

	var a address
	if err := a.setAuthority(scheme, authority); err != nil {
		return address{}, err
	}
	switch scheme {
	case "redis", "rediss":
		a.tls = scheme == "rediss"
		return a, a.setData(path, query)
	case "redis+sentinel":
		return a, a.setSentinel(path, query)
	}
	return address{}, bad("unknown scheme %q: write redis://, rediss:// or redis+sentinel://", scheme)
}

// setAuthority reads [user:password@]host[:port][,host[:port]]...
func (a *address) setAuthority(scheme, authority string) error {
	hosts := authority
	if strings.Count(authority, "@") > 1 {
		return bad("several addresses share one user and password: write them once, before the first host, an @ in them as %%40")
	}
	if at := strings.Index(authority, "@"); at >= 0 {
		hosts = authority[at+1:]
		// The error of url.Parse would show the password.
		u, err := url.Parse("redis://" + authority[:at] + "@host")
		if err != nil || u.Host != "host" {
			return errCredentials
		}
		a.username = u.User.Username()
		a.password, _ = u.User.Password()
	}
	port := "6379"
	if scheme == "redis+sentinel" {
		port = "26379"
	}
	for host := range strings.SplitSeq(hosts, ",") {
		full, err := hostPort(strings.TrimSpace(host), port)
		if err != nil {
			return err
		}
		a.hosts = append(a.hosts, full)
	}
	return nil
}

// hostPort adds the port that is usual where none is given.
func hostPort(host, usual string) (string, error) {
	u, err := url.Parse("redis://" + host)
	if err != nil || u.Hostname() == "" || u.Host != host {
		return "", bad("%q is not an address: write host:port", host)
	}
	port := u.Port()
	if port == "" {
		port = usual
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", bad("%q has no port between 1 and 65535", host)
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// setData reads the number of the database and what makes a cluster of it.
func (a *address) setData(path, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return bad("the part after ? does not parse: write ?cluster=true or leave it out")
	}
	a.kind = KindSingle
	if len(a.hosts) > 1 {
		a.kind = KindCluster
	}
	for name := range values {
		if name != "cluster" {
			return bad("unknown option %q: only cluster=true is known", name)
		}
		if values.Get(name) != "true" {
			return bad("cluster=%q: write cluster=true or leave it out", values.Get(name))
		}
		a.kind = KindCluster
	}
	return a.setDB(path)
}

func (a *address) setDB(path string) error {
	if path == "" {
		return nil
	}
	db, err := strconv.Atoi(path)
	if err != nil || db < 0 {
		return bad("%q is not the number of a database: write redis://host:port/0", path)
	}
	if a.kind == KindCluster && db != 0 {
		return bad("a cluster has only database 0, not %d", db)
	}
	a.db = db
	return nil
}

// setSentinel reads MASTER[/db].
func (a *address) setSentinel(path, query string) error {
	if query != "" {
		return bad("redis+sentinel:// takes no options after ?")
	}
	a.kind = KindSentinel
	master, db, _ := strings.Cut(path, "/")
	if master == "" {
		return bad("the name of the master is missing: write redis+sentinel://host:port,host:port/MASTER")
	}
	a.master = master
	return a.setDB(db)
}

// String names the servers, without credentials, for errors and logs.
func (a address) String() string {
	switch a.kind {
	case KindEmbedded:
		return "embedded"
	case KindSentinel:
		return fmt.Sprintf("%s by the sentinels %s", a.master, strings.Join(a.hosts, ","))
	}
	return strings.Join(a.hosts, ",")
}

// errCredentials shows nothing of what it is about.
var errCredentials = bad("user and password do not parse: write special characters as %%XX")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrAddress, fmt.Sprintf(format, args...))
}
