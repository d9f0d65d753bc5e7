package origin

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Parse returns an origin in the form that browsers send: scheme and host in
// lower case, without the default port. It accepts only http and https. It
// refuses a user, a path and a query.
func Parse(text string) (string, error) {
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
	host = strings.ToLower(host)
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// List contains the origins that are allowed in addition to the server's own.
type List []string

// NewList returns the list of the origins in texts. It skips texts that Parse
// refuses.
func NewList(texts []string) List {
	var list List
	for _, text := range texts {
		if parsed, err := Parse(text); err == nil {
			list = append(list, parsed)
		}
	}
	return list
}

// Allows returns true if a page of an origin may call the server. host is the Host
// header of the request. isTLS is true if the client is known to use TLS. Then a page
// of the same host must use https. If isTLS is false, a page of the same host may use
// http or https, because a proxy that the server does not know may terminate TLS.
func (l List) Allows(origin, host string, isTLS bool) bool {
	parsed, err := Parse(origin)
	if err != nil {
		return false
	}
	if slices.Contains(l, parsed) {
		return true
	}
	scheme, originHost, _ := strings.Cut(parsed, "://")
	return originHost == normalizeHost(scheme, host) && (scheme == "https" || !isTLS)
}
