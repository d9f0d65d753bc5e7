package ops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/identity"
)

// fakeAuditLog is an audit log in memory. BeginAudit returns failBegin, EndAudit returns
// failEnd.
type fakeAuditLog struct {
	entries            []identity.AuditEntry
	failBegin, failEnd error
	filter             identity.AuditFilter
	cursor             string
}

func (l *fakeAuditLog) BeginAudit(_ context.Context, e identity.AuditEntry) error {
	if l.failBegin == nil {
		l.entries = append(l.entries, e)
	}
	return l.failBegin
}

func (l *fakeAuditLog) EndAudit(ctx context.Context, id string, status int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i := range l.entries {
		if l.entries[i].ID == id && l.failEnd == nil {
			l.entries[i].Status = status
		}
	}
	return l.failEnd
}

func (l *fakeAuditLog) AuditEntries(_ context.Context, filter identity.AuditFilter, cursor string, limit int) ([]identity.AuditEntry, string, error) {
	l.filter, l.cursor = filter, cursor
	if cursor == "bad" {
		return nil, "", identity.ErrBadAuditCursor
	}
	return l.entries[:min(limit, len(l.entries))], "next", nil
}

// describeLast describes the newest entry.
func (l *fakeAuditLog) describeLast(t *testing.T) string {
	t.Helper()
	if len(l.entries) == 0 {
		return ""
	}
	e := l.entries[len(l.entries)-1]
	return fmt.Sprint(e.Actor, " ", e.Action, " game=", e.Game, " ", e.Target, " ", e.Status)
}

// The audit log has an entry of every route that changes something or reads something
// sensitive, and of no other route. The test covers routes that are added later.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	routes := newAPI(newFakeBackend().config()).routes()
	if len(routes) < 20 {
		t.Fatalf("there are %d routes", len(routes))
	}
	for _, rt := range routes {
		synctest.Test(t, func(t *testing.T) { checkRouteIsAudited(t, rt) }) // some routes wait
	}
}

func checkRouteIsAudited(t *testing.T, rt Operation) {
	backend := newFakeBackend()
	path := strings.NewReplacer("{game}", "demo", "{task}", "t1", "{webhook}", "rewards", "{player}", "p_1", "{kind}", "token", "{id}", "p_1", "{key}", "k1").Replace(rt.Path)
	adminRequest(t, backend.handler(), rt.Method, path, "")
	wantEntry := rt.Method != http.MethodGet || rt.isSensitive
	if got := len(backend.auditLog.entries); wantEntry && got != 1 || !wantEntry && got != 0 {
		t.Errorf("%s %s: %d entries", rt.Method, rt.Path, got)
	}
	if len(backend.auditLog.entries) > 0 && backend.auditLog.entries[0].Status == 0 {
		t.Errorf("%s %s: the entry has no status", rt.Method, rt.Path)
	}
}

func TestAuditEntryNamesActorActionAndTarget(t *testing.T) {
	t.Parallel()
	const corrections, task = "/admin/v1/games/demo/corrections", "/admin/v1/tasks/t1"
	for name, tt := range map[string]struct{ method, path, body, want string }{
		"a target in the path":  {"POST", task + "/discard", "", "ops POST /admin/v1/tasks/{task}/discard game= task=t1 200"},
		"a target in the body":  {"POST", corrections, `{"match":"m_1","player":"p_1","reason":"s3cret"}`, "ops POST /admin/v1/games/{game}/corrections game=demo match=m_1 player=p_1 200"},
		"an invalid body":       {"POST", corrections, `{"match":"m_1","s3cret":1}`, "ops POST /admin/v1/games/{game}/corrections game=demo match=m_1 400"},
		"no JSON":               {"POST", corrections, `s3cret`, "ops POST /admin/v1/games/{game}/corrections game=demo  400"},
		"a payload":             {"PUT", task + "/payload", `{"match":"s3cret"}`, "ops PUT /admin/v1/tasks/{task}/payload game= task=t1 200"},
		"fields of other types": {"POST", corrections, `{"match":["s3cret"],"player":7}`, "ops POST /admin/v1/games/{game}/corrections game=demo  400"},
		"an unknown task":       {"POST", "/admin/v1/tasks/t9/discard", "", "ops POST /admin/v1/tasks/{task}/discard game= task=t9 404"},
	} {
		backend := newFakeBackend()
		_, header, _ := adminRequest(t, backend.handler(), tt.method, tt.path, tt.body)
		if got := backend.auditLog.describeLast(t); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if id := header.Get("X-Request-Id"); id == "" || id != backend.auditLog.entries[0].ID {
			t.Errorf("%s: X-Request-Id is %q, want the id of the entry", name, id)
		}
	}
}

// Reads of profiles and of players' data are audited with the name of the admin.
// They are answered also while the audit log is unreachable.
func TestSensitiveReadsAreAudited(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/debug/pprof/goroutine":                        "ops GET /debug/pprof/{profile} game= profile=goroutine 200",
		"/debug/pprof/symbol":                           "ops GET /debug/pprof/{profile} game= profile=symbol 200",
		"/admin/v1/games/demo/queue/items":              "ops GET /admin/v1/games/{game}/queue/items game=demo  200",
		"/admin/v1/tasks/t1":                            "ops GET /admin/v1/tasks/{task} game= task=t1 200",
		"/admin/v1/games/demo/players?nickname=Nobody1": "ops GET /admin/v1/games/{game}/players game=demo  404",
		"/debug/pprof/cmdline":                          "",
		"/debug/pprof/none":                             "",
		"/debug/pprof/goroutine/1":                      "",
		"/debug/pprof/":                                 "",
	} {
		backend := newFakeBackend()
		status, _, _ := adminRequest(t, backend.handler(), "GET", path, "")
		if got := backend.auditLog.describeLast(t); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		backend.auditLog.failBegin = errors.New("the database is down")
		if withoutLog, _, _ := adminRequest(t, backend.handler(), "GET", path, ""); withoutLog != status {
			t.Errorf("%s: %d without an audit log, %d with it", path, withoutLog, status)
		}
	}
}

func TestChangesAreRefusedWithoutAuditLog(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	backend.auditLog.failBegin = errDown
	c := backend.config()
	var log bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	a := newAPI(c)
	status, _, body := adminRequest(t, a.newMux(), "POST", "/admin/v1/games/demo/leaderboards/rebuild", "")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "audit log") || backend.rebuiltOrConfirmed != "" {
		t.Errorf("%d %s, but the game %q was rebuilt", status, body, backend.rebuiltOrConfirmed)
	}
	if n := testutil.ToFloat64(a.auditOutcomes.WithLabelValues(auditWriteFailed)); n != 1 || !strings.Contains(log.String(), "refusing the change") {
		t.Errorf("%v failed writes are counted, logged %s", n, &log)
	}
	backend.auditLog.failBegin, backend.auditLog.failEnd = nil, errDown
	status, _, _ = adminRequest(t, a.newMux(), "POST", "/admin/v1/games/demo/leaderboards/rebuild", "")
	if n := testutil.ToFloat64(a.auditOutcomes.WithLabelValues(auditIncomplete)); status != http.StatusAccepted || n != 1 || backend.auditLog.entries[0].Status != 0 {
		t.Errorf("%d, %v incomplete entries are counted, stored are %+v", status, n, backend.auditLog.entries)
	}
}

// disconnectingRebuild ends the request's context during a rebuild, as if the client had
// disconnected.
type disconnectingRebuild struct {
	*fakeBackend
	disconnect func()
}

func (r disconnectingRebuild) Rebuild(context.Context, string) error {
	r.disconnect()
	return nil
}

// panickingRebuild panics during a rebuild.
type panickingRebuild struct{ *fakeBackend }

func (panickingRebuild) Rebuild(context.Context, string) error { panic("a defect") }

func TestAuditEntriesAreCompletedAfterDisconnectsAndPanics(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leaderboards func(*fakeBackend, func()) Leaderboards
		want         int
	}{
		"the client disconnects": {func(backend *fakeBackend, leave func()) Leaderboards { return disconnectingRebuild{backend, leave} }, http.StatusAccepted},
		"a panic":                {func(backend *fakeBackend, _ func()) Leaderboards { return panickingRebuild{backend} }, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := newFakeBackend()
			c := backend.config()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			c.Leaderboards = tt.leaderboards(backend, leave)
			r := httptest.NewRequestWithContext(ctx, "POST", "/admin/v1/games/demo/leaderboards/rebuild", nil)
			r.Header.Set("Authorization", "Bearer admin")
			func() {
				defer func() { _ = recover() }()
				New(c).ServeHTTP(httptest.NewRecorder(), r)
			}()
			if len(backend.auditLog.entries) != 1 || backend.auditLog.entries[0].Status != tt.want {
				t.Errorf("stored is %+v, want status %d", backend.auditLog.entries, tt.want)
			}
		})
	}
}

func TestAuditLogIsListed(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	backend.auditLog.entries = []identity.AuditEntry{{ID: "a2", StartedAt: 7, Actor: "ops", Action: "POST /x", Game: "demo", Target: "task=t1", Status: 200, EndedAt: 8}, {ID: "a1", StartedAt: 5, Actor: "ops", Action: "PUT /x"}}
	status, _, body := adminRequest(t, backend.handler(), "GET", "/admin/v1/audit-log?game=demo&actor=ops&cursor=c", "")
	want := `{"entries":[{"id":"a2","at":7,"actor":"ops","action":"POST /x","game":"demo","target":"task=t1","status":200,"ended_at":8},{"id":"a1","at":5,"actor":"ops","action":"PUT /x"}],"next_cursor":"next"}`
	if status != http.StatusOK || body != want || backend.auditLog.filter != (identity.AuditFilter{Game: "demo", Actor: "ops"}) || backend.auditLog.cursor != "c" {
		t.Errorf("%d %s, asked for %+v", status, body, backend.auditLog.filter)
	}
	for _, query := range []string{"?cursor=bad", "?limit=0", "?player=x"} {
		if status, _, body := adminRequest(t, backend.handler(), "GET", "/admin/v1/audit-log"+query, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	if !slices.ContainsFunc(backend.auditLog.entries, func(e identity.AuditEntry) bool { return e.ID == "a1" }) || len(backend.auditLog.entries) != 2 {
		t.Error("the audit log has an entry of a read of itself")
	}
}

// FuzzAuditTarget checks that the target of any request is one line of valid text, and
// that the body stays readable as it was sent.
func FuzzAuditTarget(f *testing.F) {
	for _, body := range []string{`{"match":"m_1","player":"p_1","reason":"x"}`, `{"match":"a\nb"}`, `{"match":{"a":1}}`, `{`, ``, `{"player":"\ud800"}`, "{\"match\":\"\xff\"}", `{"MATCH":"m"}`} {
		f.Add("t1", body)
	}
	f.Fuzz(func(t *testing.T, task, body string) {
		r := &request{Request: httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))}
		r.SetPathValue("task", task)
		target := sanitizeText(auditTarget(Operation{Path: "/admin/v1/tasks/{task}/discard"}, r))
		if !utf8.ValidString(target) || strings.ContainsAny(target, "\n\r\x00") || len([]rune(target)) > 201 || !strings.HasPrefix(target, "task=") {
			t.Fatalf("%q, %q: %q", task, body, target)
		}
		if rest, err := io.ReadAll(r.Body); string(rest) != body || err != nil {
			t.Fatalf("of the body %q, the handler can read %q, %v", body, rest, err)
		}
	})
}

func TestTextsOfAuditEntriesAreShortValidLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"match=m_1":                "match=m_1",
		"Zoë 名":                    "Zoë 名",
		"a\nlevel=ERROR\x00\u0085": "a?level=ERROR??",
		"a\xff":                    "a?",
		strings.Repeat("名", 201):   strings.Repeat("名", 200) + "…",
	} {
		if got := sanitizeText(text); got != want || !utf8.ValidString(got) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
