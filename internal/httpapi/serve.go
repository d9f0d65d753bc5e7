package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"laststand/internal/protocol"
)

// requestTimeout is the time limit of a request, including its body and the calls
// of stores.
const requestTimeout = 5 * time.Second

// request is an HTTP request for a known game; game is "" if the path has none.
// query has only the allowed parameters, each once and with a value.
type request struct {
	*http.Request
	game  string
	query url.Values
}

// newHandler returns the handler of a route. The handler counts requests,
// recovers from panics, and writes errors as problems.
func (a *api) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		out := &statusWriter{ResponseWriter: w}
		defer func() { a.metrics.observe(rt.path, r.Method, out.status, time.Since(begun)) }()
		defer a.recoverPanic(out, r, rt)
		out.Header().Set("Cache-Control", "no-store")
		a.allowOrigin(out, r)
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout+extraTime[rt.path])
		defer cancel()
		if err := a.call(out, r.WithContext(ctx), rt); err != nil {
			a.fail(out, r, rt, err)
		}
	})
}

// handleRequest checks a request against all limits and runs the handler of its
// route.
func (a *api) call(w *statusWriter, r *http.Request, rt route) error {
	game := r.PathValue("game")
	if game != "" && !a.games[game] {
		return clientErrorf(codeNotFound, "there is no such game")
	}
	if rt.method == "" { // the fallback of a path: any query is allowed
		return rt.handle(w, &request{Request: r, game: game})
	}
	query, err := protocol.ReadQuery(r.URL, rt.query)
	if err != nil {
		return err
	}
	asked := &request{Request: r, game: game, query: query}
	if rt.needsSlot() {
		w.slot = &concurrencySlot{shedder: a.LoadShedder}
		if err := w.slot.acquire(); err != nil {
			return err
		}
		defer w.slot.release()
		r.Body = slottedBody{r.Body, w.slot}
	}
	if err := a.shed(asked, rt); err != nil {
		return err
	}
	if err := a.admit(asked, rt); err != nil {
		return err
	}
	return rt.handle(w, asked)
}

// recoverPanic recovers from a panic of a handler. It logs the panic and writes
// status 500 without the panic's text.
func (a *api) recoverPanic(w *statusWriter, r *http.Request, rt route) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	a.Logger.ErrorContext(r.Context(), "request panicked",
		"method", r.Method, "route", rt.path, "panic", cause, "stack", string(debug.Stack()))
	if w.status == 0 {
		writeProblem(w, problemOf(errInternal))
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
	w.startAnswer(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	w.startAnswer(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

func (w *statusWriter) startAnswer(status int) {
	if w.status == 0 {
		w.status = status
		w.slot.release()
	}
}

// Unwrap lets http.ResponseController find the wrapped writer.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
