package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// newMux returns the handler of all paths. A request is routed by its path first,
// then by its method. A literal path takes precedence over a path with a
// parameter. Each path has a handler for unsupported methods. An unknown path
// below /v1/ gives a 404 problem.
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

// methodHandlers maps the HTTP methods of one path to handlers. The handler of
// GET also serves HEAD.
type methods map[string]http.Handler

// withFallback returns a handler that uses fallback for all other methods.
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

// newMethodRefusal returns the handler for methods that a path does not support.
// It answers CORS preflights and refuses all others with status 405.
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
