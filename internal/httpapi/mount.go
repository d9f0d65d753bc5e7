package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// mount puts all paths on one mux, which finds the path before the method: one
// that is written out comes before one with a parameter. Each path also answers
// the methods that it does not have, and what no path matches under /v1/ is 404
// in our own form.
func (a *api) mount() http.Handler {
	mux := http.NewServeMux()
	paths := map[string]methods{}
	for _, r := range a.routes() {
		if paths[r.path] == nil {
			paths[r.path] = methods{}
		}
		paths[r.path][r.method] = a.serve(r)
	}
	if a.Websocket != nil {
		paths[websocketPath] = methods{"GET": a.Websocket}
	}
	for path, m := range paths {
		mux.Handle(path, m.or(a.serve(route{path: path, handle: a.refuseMethod(m)})))
	}
	nothing := a.serve(route{path: noRoute, handle: notFound})
	mux.Handle("/v1", nothing)
	mux.Handle("/v1/", nothing)
	if a.Page != nil {
		mux.Handle("/", a.Page)
	} else {
		mux.Handle("/", nothing)
	}
	return mux
}

// methods are the handlers of a path. HEAD is GET's.
type methods map[string]http.Handler

func (m methods) or(refusal http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		if handler := m[method]; handler != nil {
			handler.ServeHTTP(w, r)
			return
		}
		refusal.ServeHTTP(w, r)
	})
}

// noRoute labels, in metrics, what no route matched.
const noRoute = "none"

func notFound(http.ResponseWriter, *request) error {
	return refuse(codeNotFound, "there is nothing at this path; /openapi.yaml lists what there is")
}

// refuseMethod answers preflights and refuses every other method of a path.
func (a *api) refuseMethod(has methods) func(http.ResponseWriter, *request) error {
	allowed := slices.Sorted(maps.Keys(has))
	if has["GET"] != nil {
		allowed = append(allowed, "HEAD")
	}
	list := strings.Join(allowed, ", ")
	return func(w http.ResponseWriter, r *request) error {
		if isPreflight(r.Request) {
			return a.preflight(w, r.Request, list)
		}
		w.Header().Set("Allow", list)
		return &refused{code: codeBadRequest, status: http.StatusMethodNotAllowed,
			detail: "this path takes " + list}
	}
}
