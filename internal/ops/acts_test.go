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

	"laststand/internal/audit"
)

// book is an audit log in memory. Where it fails to begin or to end an act it
// answers that.
type book struct {
	acts               []audit.Act
	failBegin, failEnd error
	asked              audit.Filter
	cursor             string
}

func (b *book) BeginAct(_ context.Context, a audit.Act) error {
	if b.failBegin == nil {
		b.acts = append(b.acts, a)
	}
	return b.failBegin
}

func (b *book) EndAct(ctx context.Context, id string, status int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i := range b.acts {
		if b.acts[i].ID == id && b.failEnd == nil {
			b.acts[i].Status = status
		}
	}
	return b.failEnd
}

func (b *book) Acts(_ context.Context, f audit.Filter, cursor string, limit int) ([]audit.Act, string, error) {
	b.asked, b.cursor = f, cursor
	if cursor == "bad" {
		return nil, "", audit.ErrBadCursor
	}
	return b.acts[:min(limit, len(b.acts))], "next", nil
}

// said is what the last act was.
func (b *book) said(t *testing.T) string {
	t.Helper()
	if len(b.acts) == 0 {
		return ""
	}
	a := b.acts[len(b.acts)-1]
	return fmt.Sprint(a.By, " ", a.What, " game=", a.Game, " ", a.Target, " ", a.Status)
}

// Every route that changes something or reads something sensitive is an act, and no
// other is: also one that is added later.
func TestEveryChangeIsAnAct(t *testing.T) {
	t.Parallel()
	routes := (&api{}).routes()
	if len(routes) < 20 {
		t.Fatalf("there are %d routes", len(routes))
	}
	for _, rt := range routes {
		synctest.Test(t, func(t *testing.T) { checkAct(t, rt) }) // some wait
	}
}

func checkAct(t *testing.T, rt route) {
	w := newWorld()
	path := strings.NewReplacer("{game}", "demo", "{task}", "t1", "{webhook}", "rewards", "{player}", "p_1", "{kind}", "ban", "{id}", "p_1", "{key}", "k1").Replace(rt.path)
	ask(t, w.handler(), rt.method, path, "")
	act := rt.method != http.MethodGet || rt.sensitive
	if got := len(w.book.acts); act && got != 1 || !act && got != 0 {
		t.Errorf("%s %s: %d acts", rt.method, rt.path, got)
	}
	if len(w.book.acts) > 0 && w.book.acts[0].Status == 0 {
		t.Errorf("%s %s: it is not written what became of it", rt.method, rt.path)
	}
}

func TestWhatIsKeptOfAnAct(t *testing.T) {
	t.Parallel()
	const corrections, task = "/admin/v1/games/demo/corrections", "/admin/v1/tasks/t1"
	for name, tt := range map[string]struct{ method, path, body, want string }{
		"by its path":   {"POST", task + "/discard", "", "ops POST /admin/v1/tasks/{task}/discard game= task=t1 200"},
		"by its body":   {"POST", corrections, `{"match":"m_1","player":"p_1","reason":"s3cret"}`, "ops POST /admin/v1/games/{game}/corrections game=demo match=m_1 player=p_1 200"},
		"refused":       {"POST", corrections, `{"match":"m_1","s3cret":1}`, "ops POST /admin/v1/games/{game}/corrections game=demo match=m_1 400"},
		"no JSON":       {"POST", corrections, `s3cret`, "ops POST /admin/v1/games/{game}/corrections game=demo  400"},
		"a payload":     {"PUT", task + "/payload", `{"match":"s3cret"}`, "ops PUT /admin/v1/tasks/{task}/payload game= task=t1 200"},
		"another field": {"POST", corrections, `{"match":["s3cret"],"player":7}`, "ops POST /admin/v1/games/{game}/corrections game=demo  400"},
		"not there":     {"POST", "/admin/v1/tasks/t9/discard", "", "ops POST /admin/v1/tasks/{task}/discard game= task=t9 404"},
	} {
		w := newWorld()
		_, header, _ := ask(t, w.handler(), tt.method, tt.path, tt.body)
		if got := w.book.said(t); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if id := header.Get("X-Request-Id"); id == "" || id != w.book.acts[0].ID {
			t.Errorf("%s: the request is told as %q", name, id)
		}
	}
}

// Profiles and what players did or sent are read by name, and are answered also while
// the audit log is out of reach.
func TestSensitiveReadsAreActs(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/debug/pprof/goroutine":                        "ops GET /debug/pprof/{profile} game= profile=goroutine 200",
		"/debug/pprof/symbol":                           "ops GET /debug/pprof/{profile} game= profile=symbol 200",
		"/admin/v1/games/demo/queue/peek":               "ops GET /admin/v1/games/{game}/queue/peek game=demo  200",
		"/admin/v1/tasks/t1":                            "ops GET /admin/v1/tasks/{task} game= task=t1 200",
		"/admin/v1/games/demo/players?nickname=Nobody1": "ops GET /admin/v1/games/{game}/players game=demo  404",
		"/debug/pprof/cmdline":                          "",
		"/debug/pprof/none":                             "",
		"/debug/pprof/goroutine/1":                      "",
		"/debug/pprof/":                                 "",
	} {
		w := newWorld()
		status, _, _ := ask(t, w.handler(), "GET", path, "")
		if got := w.book.said(t); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		w.book.failBegin = errors.New("away")
		if again, _, _ := ask(t, w.handler(), "GET", path, ""); again != status {
			t.Errorf("%s: %d without an audit log, %d with it", path, again, status)
		}
	}
}

// A body that was looked into is read as a whole, or fails as it would have.
func TestALargeBodyIsReadWhole(t *testing.T) {
	t.Parallel()
	w := newWorld()
	reason := strings.Repeat("a", 2*maxNamed)
	if status, _, body := ask(t, w.handler(), "POST", "/admin/v1/games/demo/corrections", `{"match":"m_1","reason":"`+reason+`"}`); status == http.StatusOK || !strings.Contains(body, "reason") {
		t.Errorf("%d %.200s", status, body)
	}
	r := &request{Request: httptest.NewRequestWithContext(t.Context(), "POST", "/", io.MultiReader(strings.NewReader(reason), &broken{}))}
	r.peek()
	if got, err := io.ReadAll(r.Body); string(got) != reason || !errors.Is(err, errDown) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errDown }

func TestWhatCannotBeWrittenDownIsNotDone(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.book.failBegin = errDown
	c := w.config()
	var log bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	a := newAPI(c)
	status, _, body := ask(t, a.handler(), "POST", "/admin/v1/games/demo/boards/rebuild", "")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "audit log") || w.built != "" {
		t.Errorf("%d %s, and it was done: %q", status, body, w.built)
	}
	if n := testutil.ToFloat64(a.acts.WithLabelValues(actUnwritten)); n != 1 || !strings.Contains(log.String(), "was not done") {
		t.Errorf("%v are counted, logged %s", n, &log)
	}
	w.book.failBegin, w.book.failEnd = nil, errDown
	status, _, _ = ask(t, a.handler(), "POST", "/admin/v1/games/demo/boards/rebuild", "")
	if n := testutil.ToFloat64(a.acts.WithLabelValues(actUnended)); status != http.StatusAccepted || n != 1 || w.book.acts[0].Status != 0 {
		t.Errorf("%d, %v are counted, kept is %+v", status, n, w.book.acts)
	}
}

// hasty asks and goes: its context ends while the act is done.
type hasty struct {
	*world
	leave func()
}

func (h hasty) Rebuild(context.Context, string) error {
	h.leave()
	return nil
}

// panicking is a defect of ours.
type panicking struct{ *world }

func (panicking) Rebuild(context.Context, string) error { panic("a defect") }

func TestTheEndOfAnActIsWrittenWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		boards func(*world, func()) Boards
		want   int
	}{
		"who asked goes": {func(w *world, leave func()) Boards { return hasty{w, leave} }, http.StatusAccepted},
		"a panic":        {func(w *world, _ func()) Boards { return panicking{w} }, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			c := w.config()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			c.Boards = tt.boards(w, leave)
			r := httptest.NewRequestWithContext(ctx, "POST", "/admin/v1/games/demo/boards/rebuild", nil)
			r.Header.Set("Authorization", "Bearer admin")
			func() {
				defer func() { _ = recover() }()
				New(c).ServeHTTP(httptest.NewRecorder(), r)
			}()
			if len(w.book.acts) != 1 || w.book.acts[0].Status != tt.want {
				t.Errorf("kept is %+v, want status %d", w.book.acts, tt.want)
			}
		})
	}
}

func TestActsAreListed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.book.acts = []audit.Act{{ID: "a2", At: 7, By: "ops", What: "POST /x", Game: "demo", Target: "task=t1", Status: 200, EndedAt: 8}, {ID: "a1", At: 5, By: "ops", What: "PUT /x"}}
	status, _, body := ask(t, w.handler(), "GET", "/admin/v1/acts?game=demo&by=ops&cursor=c", "")
	want := `{"acts":[{"id":"a2","at":7,"by":"ops","what":"POST /x","game":"demo","target":"task=t1","status":200,"ended_at":8},{"id":"a1","at":5,"by":"ops","what":"PUT /x"}],"next_cursor":"next"}`
	if status != http.StatusOK || body != want || w.book.asked != (audit.Filter{Game: "demo", By: "ops"}) || w.book.cursor != "c" {
		t.Errorf("%d %s, asked for %+v", status, body, w.book.asked)
	}
	for _, query := range []string{"?cursor=bad", "?limit=0", "?player=x"} {
		if status, _, body := ask(t, w.handler(), "GET", "/admin/v1/acts"+query, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	if !slices.ContainsFunc(w.book.acts, func(a audit.Act) bool { return a.ID == "a1" }) || len(w.book.acts) != 2 {
		t.Error("reading is an act")
	}
}

// FuzzAct holds that whatever an admin sends is an act of which a line is kept,
// and nothing but what is named.
func FuzzAct(f *testing.F) {
	for _, body := range []string{`{"match":"m_1","player":"p_1","reason":"x"}`, `{"match":"a\nb"}`, `{"match":{"a":1}}`, `{`, ``, `{"player":"\ud800"}`, "{\"match\":\"\xff\"}", `{"MATCH":"m"}`} {
		f.Add("t1", body)
	}
	f.Fuzz(func(t *testing.T, task, body string) {
		r := &request{Request: httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))}
		r.SetPathValue("task", task)
		target := audit.Text(targetOf(route{path: "/admin/v1/tasks/{task}/discard"}, r))
		if !utf8.ValidString(target) || strings.ContainsAny(target, "\n\r\x00") || len([]rune(target)) > 201 || !strings.HasPrefix(target, "task=") {
			t.Fatalf("%q, %q: %q", task, body, target)
		}
		if rest, err := io.ReadAll(r.Body); string(rest) != body || err != nil {
			t.Fatalf("of %q is left %q, %v", body, rest, err)
		}
	})
}
