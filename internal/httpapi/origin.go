package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// allowOrigin lets pages of the same host and of the configured origins read
// an answer, and tells caches that it depends on the origin.
func (a *api) allowOrigin(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" && a.originAllowed(r, origin) {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "ETag, Retry-After")
	}
}

func (a *api) originAllowed(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || slices.Contains(a.Origins, origin)
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers a browser that asks before it sends.
func (a *api) preflight(w http.ResponseWriter, r *http.Request, methods string) error {
	if !a.originAllowed(r, r.Header.Get("Origin")) {
		return refuse(codeForbidden, "pages of this origin may not call; the operator allows it under `origins`")
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-None-Match")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
