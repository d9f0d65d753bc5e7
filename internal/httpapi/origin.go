package httpapi

import "net/http"

// allowOrigin lets pages of the same host and of the configured origins read
// an answer, and tells caches that it depends on the origin.
func (a *api) allowOrigin(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Origin")
	if a.originAllowed(r) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("Access-Control-Expose-Headers", "ETag, Retry-After")
	}
}

func (a *api) originAllowed(r *http.Request) bool {
	return a.origins.Allows(r.Header.Get("Origin"), r.Host, a.Secure(r))
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers a browser that asks before it sends.
func (a *api) preflight(w http.ResponseWriter, r *http.Request, methods string) error {
	if !a.originAllowed(r) {
		return refuse(codeForbidden, "pages of this origin may not call; the operator allows it under `origins`")
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-None-Match")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
