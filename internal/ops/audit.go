package ops

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/metric"
	"laststand/internal/protocol"
)

// Audit stores the audit log; *ledger.AuditLog implements it. AuditEntries returns a page,
// newest first, and the cursor of the next page. It returns identity.ErrBadAuditCursor for a
// cursor that it has never returned.
type Audit interface {
	BeginAudit(ctx context.Context, entry identity.AuditEntry) error
	EndAudit(ctx context.Context, id string, status int) error
	AuditEntries(ctx context.Context, filter identity.AuditFilter, cursor string, limit int) (page []identity.AuditEntry, next string, err error)
}

// completeAuditTimeout is the time limit of the write that completes an entry.
const completeAuditTimeout = 5 * time.Second

// Outcomes of audited requests, the values of the label outcome.
const (
	auditDone        = "done"
	auditRefused     = "refused"
	auditFailed      = "failed"
	auditWriteFailed = "write_failed" // the entry could not be written; a change was refused
	auditIncomplete  = "incomplete"   // the entry was written, but could not be completed
)

func newAuditOutcomes(registry prometheus.Registerer) *prometheus.CounterVec {
	return metric.For(registry, "laststand_admin_").CountersOf("audit_total", "Audited admin requests by outcome; write_failed: the server could not write the audit log and refused a change; incomplete: the outcome was not written.",
		"outcome", auditDone, auditRefused, auditFailed, auditWriteFailed, auditIncomplete)
}

// handle writes an entry to the audit log, calls the route's handler, and
// completes the entry. If it cannot write the entry, it refuses a change. It still
// allows a read, because operators need reads most while a store is unreachable; then
// the node's log records the read.
func (h auditRoutes) handle(route Operation, r *request) (body any, err error) {
	r.body, r.bodyErr = httpserver.ReadJSON(r.w, r.Request, maxBody)
	entry := identity.AuditEntry{
		ID: ulid.Make().String(), Actor: sanitizeText(r.actor), Action: route.Method + " " + route.Path, Game: r.game, Target: sanitizeText(auditTarget(route, r)),
	}
	r.w.Header().Set("X-Request-Id", entry.ID)
	log := h.Logger.With("id", entry.ID, "action", entry.Action, "actor", entry.Actor, "game", entry.Game, "target", entry.Target)
	if err := h.Audit.BeginAudit(r.ctx, entry); err != nil {
		h.auditOutcomes.WithLabelValues(auditWriteFailed).Inc()
		if route.isRead() {
			log.ErrorContext(r.ctx, "audit log write failed; answering the read", "error", err)
			return route.handle(r)
		}
		log.ErrorContext(r.ctx, "audit log write failed; refusing the change", "error", err)
		return nil, protocol.Errorf(protocol.CodeUnavailable, "the audit log cannot be written, so nothing was changed; retry in a few seconds")
	}
	status := http.StatusInternalServerError // if the handler panics
	defer func() { h.completeAudit(r, log, entry.ID, status) }()
	if body, err = route.handle(r); err != nil {
		status = problemFor(err, h.IsStoreDown).Status
		return nil, err
	}
	status = httpserver.StatusOf(body)
	return body, nil
}

// completeAudit completes an entry with the status of the response, even if the client
// has disconnected. The node's log gets the same line.
func (h auditRoutes) completeAudit(r *request, log *slog.Logger, id string, status int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), completeAuditTimeout)
	defer cancel()
	log.InfoContext(ctx, "admin request handled", "status", status)
	if err := h.Audit.EndAudit(ctx, id, status); err != nil {
		h.auditOutcomes.WithLabelValues(auditIncomplete).Inc()
		log.ErrorContext(ctx, "audit log entry stays incomplete", "status", status, "error", err)
	}
	switch {
	case status >= http.StatusInternalServerError:
		h.auditOutcomes.WithLabelValues(auditFailed).Inc()
	case status >= http.StatusBadRequest:
		h.auditOutcomes.WithLabelValues(auditRefused).Inc()
	default:
		h.auditOutcomes.WithLabelValues(auditDone).Inc()
	}
}

var pathParameters = regexp.MustCompile(`\{(\w+)\}`)

// targetFields are the fields of request bodies that name the object of a request. No
// other field is written to the audit log, because it may contain a secret.
var targetFields = []string{"match", "player", "topic", "game", "sub", "code"}

// auditTarget returns the parameters of the path and the targetFields of the body that
// name the object of a request, such as "player=p_1".
func auditTarget(route Operation, r *request) string {
	var names []string
	for _, parameter := range pathParameters.FindAllStringSubmatch(route.Path, -1) {
		if parameter[1] != "game" {
			names = append(names, parameter[1]+"="+r.PathValue(parameter[1]))
		}
	}
	if strings.HasSuffix(route.Path, "/payload") { // the body belongs to a game, not to the admin API
		return strings.Join(names, " ")
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(r.body, &fields) // the handler returns the error
	for _, name := range targetFields {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && text != "" {
			names = append(names, name+"="+text)
		}
	}
	return strings.Join(names, " ")
}

// maxTextRunes limits a text of an entry, in characters.
const maxTextRunes = 200

// sanitizeText returns a text as an entry has it. It replaces control and invalid characters
// by '?', so the text is on one line and valid UTF-8. It cuts the text after 200
// characters and appends "…".
func sanitizeText(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > maxTextRunes {
		return string(runes[:maxTextRunes]) + "…"
	}
	return s
}

func (h auditRoutes) routes() []Operation {
	return []Operation{
		{"GET", "/admin/v1/audit-log", h.list, []string{"game", "actor", "limit", "cursor"}, false, "List the audit log, newest first."},
	}
}

func (h auditRoutes) list(r *request) (any, error) {
	filter := identity.AuditFilter{Game: r.query.Get("game"), Actor: r.query.Get("actor")}
	entries, next, err := h.Audit.AuditEntries(r.ctx, filter, r.query.Get("cursor"), r.limit)
	return page[identity.AuditEntry]{"entries", entries, next}, err
}
