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

// Audit stores the audit log; *ledger.Ledger implements it. AuditEntries returns a
// page, newest first; audit.ErrBadCursor for a cursor that it has not returned.
type Audit interface {
	BeginAudit(ctx context.Context, e audit.Entry) error
	EndAudit(ctx context.Context, id string, status int) error
	AuditEntries(ctx context.Context, f audit.Filter, cursor string, limit int) (page []audit.Entry, next string, err error)
}

const (
	// endAuditTimeout bounds the write that completes an entry.
	endAuditTimeout = 5 * time.Second
	// maxPeek bounds how many bytes of a body are searched for the target of a request.
	maxPeek = 64 << 10
)

// Outcomes of audited requests, the values of the label outcome.
const (
	auditDone        = "done"
	auditRefused     = "refused"
	auditFailed      = "failed"
	auditWriteFailed = "write_failed" // without an entry; a change was refused
	auditIncomplete  = "incomplete"   // the entry could not be completed
)

func newAuditCounter(r prometheus.Registerer) *prometheus.CounterVec {
	audits := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_admin_audit_total", Help: "Audited admin requests by outcome; write_failed: the server could not write the audit log and refused a change; incomplete: the outcome was not written.",
	}, []string{"outcome"})
	for _, outcome := range []string{auditDone, auditRefused, auditFailed, auditWriteFailed, auditIncomplete} {
		audits.WithLabelValues(outcome)
	}
	return audits
}

// audited adds an entry to the audit log, calls the handler, and completes the entry.
// Without an entry a change is refused. A read is answered all the same, because
// operators need it most while a store is out of reach; the log records it then.
func (a *api) audited(rt route, w http.ResponseWriter, r *request) error {
	entry := audit.Entry{ID: ulid.Make().String(), Actor: r.actor, Action: rt.method + " " + rt.path, Game: r.game, Target: targetOf(rt, r)}
	w.Header().Set("X-Request-Id", entry.ID)
	ctx, cancel := r.within()
	err := a.Audit.BeginAudit(ctx, entry)
	cancel()
	if err != nil {
		a.audits.WithLabelValues(auditWriteFailed).Inc()
		if rt.reads() {
			a.Logger.ErrorContext(ctx, "audit log write failed; answering the read", "action", entry.Action, "actor", entry.Actor, "game", entry.Game, "target", entry.Target, "error", err)
			return rt.handle(w, r)
		}
		a.Logger.ErrorContext(ctx, "audit log write failed; refusing the change", "action", entry.Action, "actor", entry.Actor, "game", entry.Game, "target", entry.Target, "error", err)
		return refuse(protocol.CodeUnavailable, "the audit log cannot be written, so nothing was changed; retry in a few seconds")
	}
	out := &statusRecorder{ResponseWriter: w}
	status := http.StatusInternalServerError // of a panic
	defer func() { a.endAudit(r, entry, status) }()
	if err = rt.handle(out, r); err != nil {
		status = problemOf(a.refusalOf(err)).Status
		return err
	}
	status = cmp.Or(out.status, http.StatusOK)
	return nil
}

// endAudit completes an entry with the status of the response, also if the client has
// disconnected.
func (a *api) endAudit(r *request, entry audit.Entry, status int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), endAuditTimeout)
	defer cancel()
	if err := a.Audit.EndAudit(ctx, entry.ID, status); err != nil {
		a.audits.WithLabelValues(auditIncomplete).Inc()
		a.Logger.ErrorContext(ctx, "audit log entry stays incomplete", "id", entry.ID, "action", entry.Action, "actor", entry.Actor, "status", status, "error", err)
	}
	switch {
	case status >= http.StatusInternalServerError:
		a.audits.WithLabelValues(auditFailed).Inc()
	case status >= http.StatusBadRequest:
		a.audits.WithLabelValues(auditRefused).Inc()
	default:
		a.audits.WithLabelValues(auditDone).Inc()
	}
}

// statusRecorder remembers the status that the handler wrote; 0 before.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(status int) {
	s.status = cmp.Or(s.status, status)
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap serves http.ResponseController.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

var pathParameters = regexp.MustCompile(`\{(\w+)\}`)

// targetFields are the fields of request bodies that say what a request is about. No
// other field goes to the audit log: it may hold a secret.
var targetFields = []string{"match", "player", "topic", "game", "sub", "code"}

// targetOf says what a request is about, by the parameters of its path and its body.
func targetOf(rt route, r *request) string {
	var names []string
	for _, m := range pathParameters.FindAllStringSubmatch(rt.path, -1) {
		if m[1] != "game" {
			names = append(names, m[1]+"="+r.PathValue(m[1]))
		}
	}
	if strings.HasSuffix(rt.path, "/payload") { // the body belongs to a game, not to the admin API
		return strings.Join(names, " ")
	}
	fields := r.peek()
	for _, name := range targetFields {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && text != "" {
			names = append(names, name+"="+text)
		}
	}
	return strings.Join(names, " ")
}

// peek parses the fields of a JSON body and leaves the body unread. It returns nil for
// a body that it cannot parse; the handler reports that error.
func (r *request) peek() (fields map[string]json.RawMessage) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	start, err := io.ReadAll(io.LimitReader(r.Body, maxPeek))
	r.Body = peekedBody{io.MultiReader(bytes.NewReader(start), remainder{r.Body, err}), r.Body}
	if json.Unmarshal(start, &fields) != nil {
		return nil
	}
	return fields
}

// peekedBody is a body whose start has been read ahead.
type peekedBody struct {
	io.Reader
	io.Closer
}

// remainder is the unread part of a body, or the error that reading ahead returned.
type remainder struct {
	rest io.Reader
	err  error
}

func (f remainder) Read(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.rest.Read(b)
}

// auditPage is one page of the audit log; the last page has no cursor.
type auditPage struct {
	Entries    []audit.Entry `json:"entries"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

func (a *api) getAuditLog(w http.ResponseWriter, r *request) error {
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	ctx, cancel := r.within()
	defer cancel()
	entries, next, err := a.Audit.AuditEntries(ctx, audit.Filter{Game: r.query.Get("game"), Actor: r.query.Get("actor")}, r.query.Get("cursor"), limit)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, auditPage{append([]audit.Entry{}, entries...), next})
}
