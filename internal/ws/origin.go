package ws

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// originAllowed accepts requests without an origin (no browser), those of the
// same host, and those of the configured origins.
func (s *Server) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || slices.Contains(s.Origins, origin)
}
