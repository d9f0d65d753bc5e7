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

// requestTimeout limits a request, including its body and the calls to stores.
const requestTimeout = 5 * time.Second

// request is a request of a known game. Its query has only supported
// parameters, each once and with a value.
type request struct {
	*http.Request
	game  string
	query url.Values
}

// serve makes the handler of a route. It counts requests, recovers from panics,
// and turns errors into problems.
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

func (a *api) call(w *statusWriter, r *http.Request, rt route) error {
	game := r.PathValue("game")
	if game != "" && !a.games[game] {
		return clientErrorf(codeNotFound, "there is no such game")
	}
	if rt.method == "" { // no operation of the contract: any query is allowed
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

// recoverPanic answers 500 after a panic of a handler. It logs the panic and
// hides it from the client.
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

// statusWriter records the status of the answer and releases the slot when the
// answer begins. Status 0 means that nothing was written yet.
type statusWriter struct {
	http.ResponseWriter
	status int
	slot   *concurrencySlot // released when the answer begins; nil if the request has none
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

// Unwrap makes http.ResponseController work.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
