package httpapi

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"laststand/internal/httpserver"
	"laststand/internal/metric"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// requestTimeout is the time limit of a request, including its body and the calls
// of stores.
const requestTimeout = 5 * time.Second

// newHandler returns the handler of a route. The handler counts requests,
// recovers from panics, and writes errors as problems.
func (a *api) newHandler(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		startedAt := time.Now()
		sw := &httpserver.StatusWriter{ResponseWriter: w}
		tracedCtx, span := a.Tracer.Start(r.Context(), methodLabel(r.Method)+" "+route.path, trace.WithSpanKind(trace.SpanKindServer))
		defer func() {
			span.SetAttributes(attribute.Int("http.response.status_code", sw.Status))
			span.End()
			a.metrics.requests.WithLabelValues(route.path, methodLabel(r.Method), strconv.Itoa(sw.Status)).Inc()
			a.metrics.seconds.WithLabelValues(route.path).Observe(time.Since(startedAt).Seconds())
		}()
		defer a.recoverPanic(sw, r, route)
		sw.Header().Set("Cache-Control", "no-store")
		a.allowOrigin(sw, r)
		ctx, cancel := context.WithTimeout(tracedCtx, requestTimeout+route.admission.extraTime)
		defer cancel()
		response, err := a.handleRequest(sw, r.WithContext(ctx), route)
		if err != nil {
			a.writeError(sw, r, route, err)
			return
		}
		httpserver.Respond(sw, response)
	})
}

// allowOrigin sets the CORS headers that let pages of the allowed origins read the
// response. The header Vary tells caches that the response depends on the origin.
func (a *api) allowOrigin(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" && a.IsOriginAllowed(r) {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "ETag, Retry-After")
	}
}

// handleRequest checks a request against all limits, authenticates its client, and runs
// the handler of its route.
func (a *api) handleRequest(w http.ResponseWriter, r *http.Request, route route) (response any, err error) {
	req := &request{Request: r, w: w, game: r.PathValue("game")}
	if req.game != "" && !slices.Contains(a.Games, req.game) {
		return nil, protocol.Errorf(protocol.CodeNotFound, "there is no such game")
	}
	if route.method == "" { // the fallback of a path: any query is allowed
		return route.handle(req)
	}
	if req.query, err = protocol.ReadQuery(r.URL, route.query); err != nil {
		return nil, err
	}
	if route.admission.extraTime == 0 && !route.admission.isHealthCheck {
		req.slot = &concurrencySlot{shedder: a.LoadShedder}
	}
	if err := req.slot.acquire(); err != nil {
		return nil, err
	}
	defer req.slot.release() // before the response is written, which waits for the client
	if err := a.admit(req, route.admission); err != nil {
		return nil, err
	}
	if req.claims, err = a.authorize(req, route.access); err != nil {
		return nil, err
	}
	return route.handle(req)
}

// admit refuses a request if the node sheds its kind of work, if the limit of the client's
// address is reached, or if the node is draining.
func (a *api) admit(r *request, admission admission) error {
	if err := a.checkLoad(r, admission.shedKind); err != nil {
		return err
	}
	if err := admission.rule.Take(r.Context(), a.addressKey(r), 1); err != nil {
		return err
	}
	if admission.isNewWork && a.IsDraining() {
		return errDraining
	}
	return nil
}

// checkLoad refuses a request if the node sheds its kind of work. It allows reads
// with a valid token of the game, because such a client probably plays.
func (a *api) checkLoad(r *request, kind overload.Kind) error {
	if kind == "" || !a.LoadShedder.ShouldShed(kind) {
		return nil
	}
	if kind == overload.Reading {
		if _, err := a.authenticate(r); err == nil {
			return nil
		}
	}
	return a.LoadShedder.Check(kind)
}

// recoverPanic recovers from a panic of a handler. It logs the panic and writes
// status 500 without the panic's text.
func (a *api) recoverPanic(w *httpserver.StatusWriter, r *http.Request, route route) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	a.Logger.ErrorContext(r.Context(), "request panicked",
		"method", r.Method, "route", route.path, "panic", cause, "stack", string(debug.Stack()))
	if w.Status == 0 {
		httpserver.WriteProblem(w, httpserver.NewProblem(errInternal))
	}
}

type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	factory := metric.For(r, "laststand_http_")
	return &metrics{
		requests: factory.Counters("requests_total", "HTTP requests by route, method and status code; code 499 means that the client closed the request.", "route", "method", "code"),
		seconds:  factory.Histograms("request_duration_seconds", "Duration of an HTTP request from its headers to the end of the answer.", []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5}, "route"),
	}
}

// methodLabel maps unknown methods to "other". The label then takes values of a closed
// set.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
