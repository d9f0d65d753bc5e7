package httpapi

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace/noop"

	"laststand/internal/answers"
	"laststand/internal/httpserver"
	"laststand/internal/protocol"
)

// New returns the handler of the public listener. It is safe for concurrent use
// and starts no goroutine. A request may take requestTimeout, including its body,
// and the extraTime of its route. Websocket and Page have no such limit.
func New(config Config) http.Handler {
	config.Tracer = cmp.Or(config.Tracer, noop.NewTracerProvider().Tracer(""))
	return (&api{config, newMetrics(config.Registry), newReportSlots(config.Games), answers.NewSummaries()}).newMux()
}

// newMux returns the handler of all paths. A request is routed by its path first,
// then by its method. A literal path takes precedence over a path with a
// parameter. Each path has a handler for unsupported methods. An unknown path
// below /v1/ gives a 404 problem.
func (a *api) newMux() http.Handler {
	mux := http.NewServeMux()
	paths := map[string]methodHandlers{}
	for _, apiRoute := range a.routes() {
		if paths[apiRoute.path] == nil {
			paths[apiRoute.path] = methodHandlers{}
		}
		paths[apiRoute.path][apiRoute.method] = a.newHandler(apiRoute)
	}
	paths[websocketPath] = methodHandlers{"GET": a.Websocket}
	for path, handlers := range paths {
		if get := handlers["GET"]; get != nil {
			handlers["HEAD"] = get
		}
		handlers[""] = a.newHandler(route{path: path, handle: a.newMethodRefusal(handlers)})
		mux.Handle(path, handlers)
	}
	notFoundHandler := a.newHandler(route{path: noRoute, handle: notFound})
	mux.Handle("/v1", notFoundHandler)
	mux.Handle("/v1/", notFoundHandler)
	mux.Handle("/", a.Page)
	return mux
}

// methodHandlers maps the HTTP methods of one path to handlers. The handler of "" is for
// all other methods.
type methodHandlers map[string]http.Handler

// ServeHTTP implements http.Handler.
func (m methodHandlers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := m[r.Method]
	if handler == nil {
		handler = m[""]
	}
	handler.ServeHTTP(w, r)
}

// noRoute is the route label in the metrics if no route matched.
const noRoute = "none"

func notFound(*request) (any, error) {
	return nil, protocol.Errorf(protocol.CodeNotFound, "there is nothing at this path; /openapi.yaml lists all paths")
}

// newMethodRefusal returns the handler for methods that a path does not support.
// It answers CORS preflights and refuses all others with status 405.
func (a *api) newMethodRefusal(handlers methodHandlers) handler {
	allowList := strings.Join(slices.Sorted(maps.Keys(handlers)), ", ")
	return func(r *request) (any, error) {
		if isPreflight(r.Request) {
			return nil, a.answerPreflight(r, allowList)
		}
		r.w.Header().Set("Allow", allowList)
		return nil, &httpserver.StatusError{Status: http.StatusMethodNotAllowed, Refusal: protocol.Errorf(protocol.CodeBadRequest, "this path takes %s", allowList)}
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
