package httpserver

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ParseOrigin returns an origin in the form that browsers send: scheme and host in
// lower case, without the default port. It accepts only http and https. It
// refuses a user, a path and a query.
func ParseOrigin(text string) (string, error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Hostname() == "" || strings.ContainsAny(parsed.Host, "*,") {
		return "", fmt.Errorf("%q is not of the form https://host", text)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", fmt.Errorf("%q begins with neither http:// nor https://", text)
	}
	schemeAndHost := parsed.Scheme + "://" + parsed.Host
	if !strings.EqualFold(text, schemeAndHost) {
		return "", fmt.Errorf("%q says more than https://host", text)
	}
	return parsed.Scheme + "://" + normalizeHost(parsed.Scheme, parsed.Host), nil
}

// normalizeHost returns a host in lower case, without the default port of the
// scheme.
func normalizeHost(scheme, host string) string {
	return strings.TrimSuffix(strings.ToLower(host), map[string]string{"http": ":80", "https": ":443"}[scheme])
}

// Origins decides which web pages may call the server: those of the server's own origin,
// and those of a list. Browsers send the true origin of a page, but other programs can
// send any. So this check protects players against foreign pages; it does not
// authenticate clients.
type Origins struct {
	allowed []string
	isTLS   func(*http.Request) bool
}

// NewOrigins returns the check for the listed origins. It skips texts that ParseOrigin
// refuses. isTLS returns true if the client of a request is known to use TLS.
func NewOrigins(texts []string, isTLS func(*http.Request) bool) Origins {
	origins := Origins{isTLS: isTLS}
	for _, text := range texts {
		if parsed, err := ParseOrigin(text); err == nil {
			origins.allowed = append(origins.allowed, parsed)
		}
	}
	return origins
}

// Allow returns true if a request does not come from a browser, because it has no Origin
// header, or if the page of its origin may call the server. If the client uses TLS, a page
// of the same host must use https. Otherwise it may use http or https, because a proxy that
// the server does not know may terminate TLS.
func (o Origins) Allow(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || o.allows(origin, r.Host, o.isTLS(r))
}

// allows is Allow for an origin and the Host header of the request.
func (o Origins) allows(origin, host string, isTLS bool) bool {
	parsed, err := ParseOrigin(origin)
	if err != nil {
		return false
	}
	if slices.Contains(o.allowed, parsed) {
		return true
	}
	scheme, originHost, _ := strings.Cut(parsed, "://")
	return originHost == normalizeHost(scheme, host) && (scheme == "https" || !isTLS)
}
