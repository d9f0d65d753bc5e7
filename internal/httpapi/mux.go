package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// newMux routes every path. The mux finds the path first and the method second.
// A literal path wins over a path with a parameter. Each path answers
// unsupported methods itself. An unknown path below /v1/ gives a 404 problem.
func (a *api) newMux() http.Handler {
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
		mux.Handle(path, m.withFallback(a.serve(route{path: path, handle: a.refuseMethod(m)})))
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

// methods maps the methods of a path to handlers. The handler of GET also
// serves HEAD.
type methods map[string]http.Handler

func (m methods) withFallback(fallback http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		if handler := m[method]; handler != nil {
			handler.ServeHTTP(w, r)
			return
		}
		fallback.ServeHTTP(w, r)
	})
}

// noRoute is the route label in the metrics if no route matched.
const noRoute = "none"

func notFound(http.ResponseWriter, *request) error {
	return clientErrorf(codeNotFound, "there is nothing at this path; /openapi.yaml lists all paths")
}

// refuseMethod answers CORS preflights and refuses all other methods that a
// path does not support.
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
		return &clientError{code: codeBadRequest, status: http.StatusMethodNotAllowed,
			detail: "this path takes " + list}
	}
}
