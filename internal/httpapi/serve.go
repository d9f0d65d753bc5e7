package httpapi

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

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
		sw := &statusWriter{ResponseWriter: w}
		defer func() { a.metrics.observe(route.path, r.Method, sw.status, time.Since(startedAt)) }()
		defer a.recoverPanic(sw, r, route)
		sw.Header().Set("Cache-Control", "no-store")
		a.allowOrigin(sw, r)
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout+extraTimeByPath[route.path])
		defer cancel()
		if err := a.handleRequest(sw, r.WithContext(ctx), route); err != nil {
			a.writeError(sw, r, route, err)
		}
	})
}

// handleRequest checks a request against all limits and runs the handler of its
// route.
func (a *api) handleRequest(w *statusWriter, r *http.Request, route route) error {
	game := r.PathValue("game")
	if game != "" && !a.games[game] {
		return clientErrorf(protocol.CodeNotFound, "there is no such game")
	}
	if route.method == "" { // the fallback of a path: any query is allowed
		return route.handle(w, &request{Request: r, game: game})
	}
	query, err := protocol.ReadQuery(r.URL, route.query)
	if err != nil {
		return err
	}
	req := &request{Request: r, game: game, query: query}
	if route.needsSlot() {
		w.slot = &concurrencySlot{shedder: a.LoadShedder}
		if err := w.slot.acquire(); err != nil {
			return err
		}
		defer w.slot.release()
		r.Body = slotReleasingBody{r.Body, w.slot}
	}
	if err := a.checkLoad(req, route); err != nil {
		return err
	}
	if err := a.checkAddressLimits(req, route); err != nil {
		return err
	}
	return route.handle(w, req)
}

// recoverPanic recovers from a panic of a handler. It logs the panic and writes
// status 500 without the panic's text.
func (a *api) recoverPanic(w *statusWriter, r *http.Request, route route) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	a.Logger.ErrorContext(r.Context(), "request panicked",
		"method", r.Method, "route", route.path, "panic", cause, "stack", string(debug.Stack()))
	if w.status == 0 {
		writeProblem(w, newProblem(errInternal))
	}
}

// statusWriter records the status of the response and releases the slot when the
// response starts. status 0 means that nothing was written yet.
type statusWriter struct {
	http.ResponseWriter
	status int
	slot   *concurrencySlot // nil if the request has none
}

func (w *statusWriter) WriteHeader(status int) {
	w.recordStatus(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(body []byte) (int, error) {
	w.recordStatus(http.StatusOK)
	return w.ResponseWriter.Write(body)
}

func (w *statusWriter) recordStatus(status int) {
	if w.status == 0 {
		w.status = status
		w.slot.release()
	}
}

// Unwrap lets http.ResponseController find the wrapped writer.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
