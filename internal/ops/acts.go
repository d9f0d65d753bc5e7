package ops

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/audit"
	"laststand/internal/protocol"
)

// Acts keeps what operators do, as *ledger.Ledger does. Acts pages through it,
// newest first: audit.ErrBadCursor for a cursor that it has not given.
type Acts interface {
	BeginAct(ctx context.Context, a audit.Act) error
	EndAct(ctx context.Context, id string, status int) error
	Acts(ctx context.Context, f audit.Filter, cursor string, limit int) (page []audit.Act, next string, err error)
}

const (
	// endWithin bounds how long it is tried to write what became of an act.
	endWithin = 5 * time.Second
	// maxNamed bounds a body that is looked into for what an act is about.
	maxNamed = 64 << 10
)

// outcomesOfActs label what becomes of acts.
const (
	actDone      = "done"
	actRefused   = "refused"
	actFailed    = "failed"
	actUnwritten = "write_failed" // it was not done
	actUnended   = "incomplete"   // what became of it could not be written
)

func newActs(r prometheus.Registerer) *prometheus.CounterVec {
	acts := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_admin_audit_total", Help: "Audited admin requests by outcome; write_failed: the server could not write the audit log and refused a change; incomplete: the outcome was not written.",
	}, []string{"outcome"})
	for _, outcome := range []string{actDone, actRefused, actFailed, actUnwritten, actUnended} {
		acts.WithLabelValues(outcome)
	}
	return acts
}

// audited writes an act down, does it, and writes down what became of it. A change
// that cannot be written down is not done. A read is: it is needed most while a
// store is out of reach. The log says so then.
func (a *api) audited(rt route, w http.ResponseWriter, r *request) error {
	act := audit.Act{ID: ulid.Make().String(), By: r.by, What: rt.method + " " + rt.path, Game: r.game, Target: targetOf(rt, r)}
	w.Header().Set("X-Request-Id", act.ID)
	ctx, cancel := r.within()
	err := a.Acts.BeginAct(ctx, act)
	cancel()
	if err != nil {
		a.acts.WithLabelValues(actUnwritten).Inc()
		if rt.reads() {
			a.Logger.ErrorContext(ctx, "audit log write failed; answering the read", "what", act.What, "by", act.By, "game", act.Game, "target", act.Target, "error", err)
			return rt.handle(w, r)
		}
		a.Logger.ErrorContext(ctx, "an act could not be written to the audit log, and was not done", "what", act.What, "by", act.By, "error", err)
		return refuse(protocol.CodeUnavailable, "this cannot be written to the audit log, and so was not done; try again soon")
	}
	out := &noted{ResponseWriter: w}
	status := http.StatusInternalServerError // of a panic
	defer func() { a.ended(r, act, status) }()
	if err = rt.handle(out, r); err != nil {
		status = problemOf(a.refusalOf(err)).Status
		return err
	}
	status = cmp.Or(out.status, http.StatusOK)
	return nil
}

// ended writes down what became of an act, also if who asked for it has gone.
func (a *api) ended(r *request, act audit.Act, status int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), endWithin)
	defer cancel()
	if err := a.Acts.EndAct(ctx, act.ID, status); err != nil {
		a.acts.WithLabelValues(actUnended).Inc()
		a.Logger.ErrorContext(ctx, "what became of an act could not be written to the audit log", "act", act.ID, "what", act.What, "status", status, "error", err)
	}
	switch {
	case status >= http.StatusInternalServerError:
		a.acts.WithLabelValues(actFailed).Inc()
	case status >= http.StatusBadRequest:
		a.acts.WithLabelValues(actRefused).Inc()
	default:
		a.acts.WithLabelValues(actDone).Inc()
	}
}

// noted remembers the status that was written, 0 before.
type noted struct {
	http.ResponseWriter
	status int
}

func (n *noted) WriteHeader(status int) {
	n.status = cmp.Or(n.status, status)
	n.ResponseWriter.WriteHeader(status)
}

// Unwrap serves http.ResponseController.
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }

var pathNames = regexp.MustCompile(`\{(\w+)\}`)

// bodyNames are the fields of bodies that say what an act is about. What else a
// body has is not written down: it may be secret.
var bodyNames = []string{"match", "player", "topic", "game", "sub", "code"}

// targetOf is what a request is about, by its path and its body.
func targetOf(rt route, r *request) string {
	var names []string
	for _, m := range pathNames.FindAllStringSubmatch(rt.path, -1) {
		if m[1] != "game" {
			names = append(names, m[1]+"="+r.PathValue(m[1]))
		}
	}
	if strings.HasSuffix(rt.path, "/payload") { // which is somebody else's
		return strings.Join(names, " ")
	}
	fields := r.peek()
	for _, name := range bodyNames {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && text != "" {
			names = append(names, name+"="+text)
		}
	}
	return strings.Join(names, " ")
}

// peek looks at the fields of a body of JSON, and leaves it to be read. What is
// wrong with it, its reader will find.
func (r *request) peek() (fields map[string]json.RawMessage) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	begin, err := io.ReadAll(io.LimitReader(r.Body, maxNamed))
	r.Body = seenBody{io.MultiReader(bytes.NewReader(begin), onward{r.Body, err}), r.Body}
	if json.Unmarshal(begin, &fields) != nil {
		return nil
	}
	return fields
}

// seenBody is a body whose beginning has been read.
type seenBody struct {
	io.Reader
	io.Closer
}

// onward goes on with a body, or with the error that it met.
type onward struct {
	rest io.Reader
	err  error
}

func (f onward) Read(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.rest.Read(b)
}

// actPage is a list of acts; the cursor is absent after the last.
type actPage struct {
	Acts       []audit.Act `json:"acts"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

func (a *api) getActs(w http.ResponseWriter, r *request) error {
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	ctx, cancel := r.within()
	defer cancel()
	acts, next, err := a.Acts.Acts(ctx, audit.Filter{Game: r.query.Get("game"), By: r.query.Get("by")}, r.query.Get("cursor"), limit)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, actPage{append([]audit.Act{}, acts...), next})
}
