package ops

import (
	"net/http"
	"net/http/pprof"
	runtime "runtime/pprof"
)

// extraProfiles are the profiles that runtime/pprof does not know by name. The command
// line is left out, because it may contain passwords.
var extraProfiles = map[string]http.HandlerFunc{"profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace}

// getProfiles lists the profiles.
func (a *api) getProfiles(w http.ResponseWriter, r *request) error {
	if r.URL.Path != "/debug/pprof/" {
		return notFound(w, r)
	}
	pprof.Index(w, r.Request)
	return nil
}

// getProfile writes a profile. The audit log gets an entry of the request.
func (a *api) getProfile(w http.ResponseWriter, r *request) error {
	name := r.PathValue("profile")
	handle := extraProfiles[name]
	if handle == nil && runtime.Lookup(name) != nil {
		handle = pprof.Index
	}
	if handle == nil || r.Method != http.MethodGet && r.Method != http.MethodPost {
		return notFound(w, r)
	}
	route := route{method: r.Method, path: "/debug/pprof/{profile}", sensitive: true, handle: func(w http.ResponseWriter, r *request) error {
		handle(w, r.Request)
		return nil
	}}
	return a.handleAudited(route, w, r)
}
