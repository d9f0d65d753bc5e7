package ws

import "net/http"

// isOriginAllowed accepts requests without an Origin header (not from a browser), from
// the same host, and from a configured origin.
func (s *Server) isOriginAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || s.origins.Allows(origin, r.Host, s.IsTLS(r))
}
