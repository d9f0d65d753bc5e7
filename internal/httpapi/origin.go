package httpapi

import (
	"net/http"

	"laststand/internal/protocol"
)

// allowOrigin sets the CORS headers that let pages of the allowed origins read the
// response. The header Vary tells caches that the response depends on the origin.
func (a *api) allowOrigin(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" && a.IsOriginAllowed(r) {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "ETag, Retry-After")
	}
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// answerPreflight sets the headers of the answer to the CORS preflight, which a
// browser sends before the real request. methods is the list of allowed methods.
func (a *api) answerPreflight(r *request, methods string) error {
	if !a.IsOriginAllowed(r.Request) {
		return protocol.Errorf(protocol.CodeForbidden, "pages of this origin may not call the API; the operator must add the origin to `origins`")
	}
	header := r.w.Header()
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-None-Match")
	header.Set("Access-Control-Max-Age", "600")
	return nil
}
