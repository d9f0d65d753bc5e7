// Package origin says which pages may speak to the server, by the origin that
// their browser names (RFC 6454).
package origin

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Parse gives an origin as browsers write it: scheme and host in lower case,
// without the scheme's own port. It takes http and https, and nothing that an
// origin does not have: a user, a path, a query.
func Parse(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Hostname() == "" || strings.ContainsAny(u.Host, "*,") {
		return "", fmt.Errorf("%q is not of the form https://host", text)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q begins with neither http:// nor https://", text)
	}
	whole := u.Scheme + "://" + u.Host
	if !strings.EqualFold(text, whole) {
		return "", fmt.Errorf("%q says more than https://host", text)
	}
	return u.Scheme + "://" + hostOf(u.Scheme, u.Host), nil
}

// hostOf is a host as it stands in an origin of a scheme.
func hostOf(scheme, host string) string {
	host = strings.ToLower(host)
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// List holds the origins that are allowed besides the server's own.
type List []string

// NewList makes a list of origins. What is none is left out: Parse says what is
// wrong with it.
func NewList(texts []string) List {
	var l List
	for _, text := range texts {
		if o, err := Parse(text); err == nil {
			l = append(l, o)
		}
	}
	return l
}

// Allows says whether a page of an origin may speak to the server that it asked
// for by host, as a Host header has it. secure: the client's own connection is
// TLS, and then no page without TLS is of the same host. Without it the scheme
// says nothing: TLS may end at a proxy that nobody has told us to trust.
func (l List) Allows(origin, host string, secure bool) bool {
	o, err := Parse(origin)
	if err != nil {
		return false
	}
	if slices.Contains(l, o) {
		return true
	}
	scheme, at, _ := strings.Cut(o, "://")
	return at == hostOf(scheme, host) && (scheme == "https" || !secure)
}
