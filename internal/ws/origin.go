package ws

import "net/http"

// isOriginAllowed returns true if a request has no Origin header, so that it does not come
// from a browser, or has the origin of this host or a configured one.
func (s *Server) isOriginAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || s.origins.Allows(origin, r.Host, s.IsTLS(r))
}
