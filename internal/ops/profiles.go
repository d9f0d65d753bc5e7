package ops

import (
	"cmp"
	"net/http"
	"net/http/pprof"
	runtime "runtime/pprof"

	"laststand/internal/httpserver"
)

// extraProfiles are the profiles that runtime/pprof does not know by name. The command
// line is left out, because it may contain passwords.
var extraProfiles = map[string]http.HandlerFunc{"profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace}

func getProfiles(r *request) (any, error) {
	if r.URL.Path != "/debug/pprof/" {
		return notFound(r)
	}
	pprof.Index(r.w, r.Request)
	return httpserver.Written(http.StatusOK), nil
}

// getProfile writes a profile. The audit log gets an entry of the request.
func (a auditor) getProfile(r *request) (any, error) {
	name := r.PathValue("profile")
	handle := extraProfiles[name]
	if handle == nil && runtime.Lookup(name) != nil {
		handle = pprof.Index
	}
	if handle == nil || r.Method != http.MethodGet && r.Method != http.MethodPost {
		return notFound(r)
	}
	route := route{method: r.Method, path: "/debug/pprof/{profile}", sensitive: true, handle: func(r *request) (any, error) {
		recorder := &httpserver.StatusWriter{ResponseWriter: r.w}
		handle(recorder, r.Request)
		return httpserver.Written(cmp.Or(recorder.Status, http.StatusOK)), nil
	}}
	return a.handle(route, r)
}
