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

// LoadShedder refuses work while the node is overloaded. *overload.Shedder
// implements it. ShouldShed returns true if the node refuses work of a kind now.
// Check returns the refusal, or nil. Acquire counts a request until the caller calls
// release, or refuses it if too many run.
type LoadShedder interface {
	ShouldShed(kind overload.Kind) bool
	Check(kind overload.Kind) error
	Acquire(kind overload.Kind) (release func(), err error)
}

// concurrencySlot is one request's place in the limit of concurrent requests. The
// request has the slot only while the node works for it, not while it waits for the
// body or writes the response. Otherwise slow clients could occupy all slots. Only the
// goroutine of the request may use it. A nil slot is for requests without a limit.
type concurrencySlot struct {
	shedder     LoadShedder
	releaseSlot func() // nil if the slot is not held
}

// acquire takes a slot, or returns the refusal.
func (s *concurrencySlot) acquire() (err error) {
	if s == nil {
		return nil
	}
	s.releaseSlot, err = s.shedder.Acquire(overload.Requests)
	return err
}

// release returns the slot. It does nothing if the slot is not held.
func (s *concurrencySlot) release() {
	if s != nil && s.releaseSlot != nil {
		s.releaseSlot()
		s.releaseSlot = nil
	}
}

// maxReports limits the reports that a node computes at the same time. A large one takes
// seconds of a core. A game has one at a time, so it cannot delay the others for long.
const maxReports = 4

type reportSlots struct {
	node  chan struct{}            // full while the node computes maxReports
	games map[string]chan struct{} // full while the node computes a report of the game
}

func newReportSlots(games []string) reportSlots {
	slots := reportSlots{make(chan struct{}, maxReports), map[string]chan struct{}{}}
	for _, game := range games {
		slots.games[game] = make(chan struct{}, 1)
	}
	return slots
}

// run calls compute when the game and the node have a slot, and returns its error. It refuses
// after reportTimeout. The caller must write the response later, because that waits for the
// client.
func (s reportSlots) run(ctx context.Context, game string, compute func() error) error {
	waiting, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	for _, slot := range []chan struct{}{s.games[game], s.node} {
		select {
		case slot <- struct{}{}:
			defer func() { <-slot }()
		case <-waiting.Done():
			return protocol.RetryAfter(protocol.CodeOverloaded, 5000, "the node computes many reports; retry in 5 s")
		}
	}
	return compute()
}
