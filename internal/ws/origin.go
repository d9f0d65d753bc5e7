package ws

import "net/http"

// originAllowed accepts requests without an origin (no browser), those of the
// same host, and those of the configured origins.
func (s *Server) originAllowed(r *http.Request) bool {
	named := r.Header.Get("Origin")
	return named == "" || s.origins.Allows(named, r.Host, s.Secure(r))
}
