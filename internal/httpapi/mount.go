package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// mount puts all routes on one mux. Each path also answers the methods that it
// does not have, and what no path matches under /v1/ is 404 in our own form.
func (a *api) mount() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range a.routes() {
		mux.Handle(r.method+" "+r.path, a.serve(r))
		methods[r.path] = append(methods[r.path], r.method)
	}
	if a.Websocket != nil {
		mux.Handle("GET "+websocketPath, a.Websocket)
		methods[websocketPath] = []string{"GET"}
	}
	for path, allowed := range methods {
		mux.Handle(path, a.serve(route{path: path, handle: a.refuseMethod(allowed)}))
	}
	nothing := a.serve(route{path: noRoute, handle: notFound})
	mux.Handle("DELETE "+erasurePath, nothing)
	mux.Handle("/v1", nothing)
	mux.Handle("/v1/", nothing)
	if a.Page != nil {
		mux.Handle("/", a.Page)
	} else {
		mux.Handle("/", nothing)
	}
	return mux
}

// noRoute labels, in metrics, what no route matched.
const noRoute = "none"

func notFound(http.ResponseWriter, *request) error {
	return refuse(codeNotFound, "there is nothing at this path; /openapi.yaml lists what there is")
}

// refuseMethod answers preflights and refuses every other method of a path.
func (a *api) refuseMethod(allowed []string) func(http.ResponseWriter, *request) error {
	if slices.Contains(allowed, "GET") {
		allowed = append(slices.Clone(allowed), "HEAD")
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
