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

// callWithin bounds a request, its stores' answers included.
const callWithin = 5 * time.Second

// request is a request whose game is known and whose query holds nothing that
// its route does not take, each once and with a value.
type request struct {
	*http.Request
	game  string
	query url.Values
}

// serve makes a handler of a route: it counts, answers for panics, and turns
// the errors of the route into problems.
func (a *api) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		out := &writer{ResponseWriter: w}
		defer func() { a.metrics.observe(rt.path, r.Method, out.status, time.Since(begun)) }()
		defer a.rescue(out, r, rt)
		out.Header().Set("Cache-Control", "no-store")
		a.allowOrigin(out, r)
		ctx, cancel := context.WithTimeout(r.Context(), callWithin+patience[rt.path])
		defer cancel()
		if err := a.call(out, r.WithContext(ctx), rt); err != nil {
			a.fail(out, r, rt, err)
		}
	})
}

func (a *api) call(w *writer, r *http.Request, rt route) error {
	game := r.PathValue("game")
	if game != "" && !a.games[game] {
		return refuse(codeNotFound, "there is no such game")
	}
	if rt.method == "" { // it is no operation, and takes any query
		return rt.handle(w, &request{Request: r, game: game})
	}
	query, err := protocol.ReadQuery(r.URL, rt.query)
	if err != nil {
		return err
	}
	asked := &request{Request: r, game: game, query: query}
	if rt.counts() {
		w.turn = &turn{pressure: a.Pressure}
		if err := w.turn.take(); err != nil {
			return err
		}
		defer w.turn.leave()
		r.Body = awaited{r.Body, w.turn}
	}
	if err := a.shed(asked, rt); err != nil {
		return err
	}
	if err := a.admit(asked, rt); err != nil {
		return err
	}
	return rt.handle(w, asked)
}

// rescue answers for a handler that panicked: the client learns nothing of it.
func (a *api) rescue(w *writer, r *http.Request, rt route) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	a.Logger.ErrorContext(r.Context(), "a request panicked",
		"method", r.Method, "route", rt.path, "panic", cause, "stack", string(debug.Stack()))
	if w.status == 0 {
		writeProblem(w, problemOf(internal))
	}
}

// writer remembers the status that was written, 0 before.
type writer struct {
	http.ResponseWriter
	status int
	turn   *turn // ends when the answer begins; nil where the request has none
}

func (w *writer) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

func (w *writer) begin(status int) {
	if w.status == 0 {
		w.status = status
		w.turn.leave()
	}
}

// Unwrap serves http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
