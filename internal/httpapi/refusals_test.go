package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

func TestBadRequestsGetAProblem(t *testing.T) {
	t.Parallel()
	guests, rename, board := demo+"/guests", demo+"/players/me/nickname", demo+"/leaderboards/all"
	tests := []struct {
		name   string
		call   call
		status int
		code   protocol.Code
		detail string // a part of it
	}{
		{"unknown path", get("/v1/nothing"), 404, protocol.CodeNotFound, "/openapi.yaml"},
		{"unknown path of a game", get(demo + "/arena/402951"), 404, protocol.CodeNotFound, "/openapi.yaml"},
		{"unknown arena", get(demo + "/arenas/000000"), 404, protocol.CodeNotFound, "no such arena"},
		{"code too short", get(demo + "/arenas/40295"), 404, protocol.CodeNotFound, "6 digits"},
		{"code of other digits", get(demo + "/arenas/" + url.PathEscape("٤٠٢٩٥١")), 404, protocol.CodeNotFound, "6 digits"},
		{"parameter of an arena", get(demo + "/arenas/402951?as=host"), 400, protocol.CodeBadRequest, `"as"`},
		{"arena without a token", send("POST", demo+"/arenas", newArena), 401, protocol.CodeUnauthorized, "Bearer"},
		{"arena of a service", send("POST", demo+"/arenas", newArena, "Authorization: Bearer service"), 403, protocol.CodeForbidden, "role"},
		{"arena of another game", send("POST", demo+"/arenas", newArena, "Authorization: Bearer foreign"), 403, protocol.CodeForbidden, "another game"},
		{"arena of an unknown field", send("POST", demo+"/arenas", `{"mode":"buzzer","name":"A","questions":{"count":1,"kind":"text"},"pace":"auto"}`, bearerGood), 400, protocol.CodeBadRequest, `"kind"`},
		{"arena of an unknown field of a team", send("POST", demo+"/arenas", `{"mode":"buzzer","name":"A","teams":[{"id":"x","name":"X","host":1}],"questions":{"count":1},"pace":"auto"}`, bearerGood), 400, protocol.CodeBadRequest, `"host"`},
		{"arena without a mode", send("POST", demo+"/arenas", `{"name":"A","questions":{"count":1},"pace":"auto"}`, bearerGood), 400, protocol.CodeBadRequest, `"mode"`},
		{"arena as a form", call{"POST", demo + "/arenas", "mode=buzzer", []string{bearerGood}}, 415, protocol.CodeBadRequest, "application/json"},
		{"method of the arenas", get(demo + "/arenas"), 405, protocol.CodeBadRequest, "POST"},
		{"method of an arena", send("PUT", demo+"/arenas/402951", "{}"), 405, protocol.CodeBadRequest, "GET, HEAD"},
		{"erasure without a token", call{method: "DELETE", target: demo + "/players/me"}, 401, protocol.CodeUnauthorized, ""},
		{"erasure by a host", call{method: "DELETE", target: demo + "/players/me", headers: []string{"Authorization: Bearer host"}}, 403, protocol.CodeForbidden, ""},
		{"erasure by a banned player", call{method: "DELETE", target: demo + "/players/me", headers: []string{"Authorization: Bearer banned"}}, 403, protocol.CodeForbidden, "until 2026-11-20T22:05:45Z: two accounts"},
		{"profile of oneself", get(demo + "/players/me"), 405, protocol.CodeBadRequest, ""},
		{"an account without a player's token", send("PUT", demo+"/players/me/account", `{"token":"x"}`), 401, protocol.CodeUnauthorized, ""},
		{"an account without a token", send("PUT", demo+"/players/me/account", `{}`, bearerGood), 400, protocol.CodeBadRequest, ""},
		{"unknown game", get("/v1/games/nowhere/players/p_1"), 404, protocol.CodeNotFound, "no such game"},
		{"unknown player", get(demo + "/players/p_9"), 404, protocol.CodeNotFound, "no such player"},
		{"history of an unknown player", get(demo + "/players/p_9/matches"), 404, protocol.CodeNotFound, "no such player"},
		{"unknown match", get(demo + "/matches/m_9"), 404, protocol.CodeNotFound, "no such match"},

		{"method of a path", send("DELETE", guests, ""), 405, protocol.CodeBadRequest, "POST"},
		{"method of a read path", send("POST", demo+"/players/p_1", "{}"), 405, protocol.CodeBadRequest, "GET, HEAD"},
		{"method of the websocket", send("POST", "/v1/ws", ""), 405, protocol.CodeBadRequest, "GET"},
		{"OPTIONS that is no preflight", call{method: "OPTIONS", target: guests}, 405, protocol.CodeBadRequest, "POST"},

		{"unknown parameter", get(demo + "/players/p_1?page=2"), 400, protocol.CodeBadRequest, `"page"`},
		{"unknown parameter of a board", get(board + "?page=2"), 400, protocol.CodeBadRequest, `"page"`},
		{"parameter twice", get(demo + "/matches/m_1?limit=1&limit=2"), 400, protocol.CodeBadRequest, `"limit"`},
		{"parameter without a value", get(demo + "/matches/m_1?cursor="), 400, protocol.CodeBadRequest, `"cursor"`},
		{"parameter with a zero byte", get(demo + "/players/p_1/matches?cursor=%00"), 400, protocol.CodeBadRequest, `"cursor"`},
		{"path with a zero byte", get(demo + "/players/p%00"), 400, protocol.CodeBadRequest, "the path"},
		{"query that cannot be read", get(demo + "/matches/m_1?limit=%zz"), 400, protocol.CodeBadRequest, "escape"},
		{"query with semicolons", get(demo + "/matches/m_1?limit=1;cursor=2"), 400, protocol.CodeBadRequest, ""},
		{"limit no number", get(demo + "/matches/m_1?limit=ten"), 400, protocol.CodeBadRequest, `"ten"`},
		{"limit 0", get(demo + "/players/p_1/matches?limit=0"), 400, protocol.CodeBadRequest, "1 to 200"},
		{"limit 201", get(demo + "/players/p_1/matches?limit=201"), 400, protocol.CodeBadRequest, "1 to 200"},
		{"limit of a board", get(board + "?limit=201"), 400, protocol.CodeBadRequest, "200"},
		{"cursor of a match", get(demo + "/matches/m_1?cursor=x"), 400, protocol.CodeBadRequest, "cursor"},
		{"cursor beyond a match", get(demo + "/matches/m_1?cursor=" + offsetCursor(3)), 400, protocol.CodeBadRequest, "cursor"},
		{"cursor of a history", get(demo + "/players/p_1/matches?cursor=bad"), 400, protocol.CodeBadRequest, "cursor"},
		{"explain", get(board + "/p_1?explain=yes"), 400, protocol.CodeBadRequest, "explain"},

		{"no content type", call{method: "POST", target: guests, body: "{}"}, 415, protocol.CodeBadRequest, "application/json"},
		{"content type of a form", call{"POST", guests, "{}", []string{"Content-Type: text/plain"}}, 415, protocol.CodeBadRequest, "application/json"},
		{"body too large", send("POST", guests, `{"device":"`+strings.Repeat("d", maxGuestBody)+`"}`), 413, protocol.CodePayloadTooLarge, "4096"},
		{"body of another route too large", send("POST", demo+"/arenas", `{"name":"`+strings.Repeat("d", maxBody)+`"}`, bearerGood), 413, protocol.CodePayloadTooLarge, "1048576"},
		{"body no JSON", send("POST", guests, "{"), 400, protocol.CodeBadRequest, "JSON object"},
		{"body no object", send("POST", guests, "[]"), 400, protocol.CodeBadRequest, "JSON object"},
		{"two bodies", send("POST", guests, "{}{}"), 400, protocol.CodeBadRequest, "JSON object"},
		{"body of broken UTF-8", send("POST", guests, "{\"device\":\"\xff\"}"), 400, protocol.CodeBadRequest, "UTF-8"},
		{"unknown field", send("POST", guests, `{"devise":"x"}`), 400, protocol.CodeBadRequest, `"devise"`},
		{"field of another case", send("POST", guests, `{"Device":"x"}`), 400, protocol.CodeBadRequest, `"Device"`},
		{"field of another type", send("POST", guests, `{"device":7}`), 400, protocol.CodeBadRequest, `"device"`},
		{"no nickname", send("PUT", rename, `{}`, bearerGood), 400, protocol.CodeBadRequest, `"nickname"`},

		{"no token", send("PUT", rename, `{"nickname":"Ada"}`), 401, protocol.CodeUnauthorized, "Bearer"},
		{"another scheme", send("PUT", rename, `{}`, "Authorization: Basic good"), 401, protocol.CodeUnauthorized, "Bearer"},
		{"empty token", send("PUT", rename, `{}`, "Authorization: Bearer "), 401, protocol.CodeUnauthorized, "Bearer"},
		{"two tokens", send("PUT", rename, `{}`, bearerGood, bearerGood), 401, protocol.CodeUnauthorized, "Bearer"},
		{"bad token", send("PUT", rename, `{}`, "Authorization: Bearer bad"), 401, protocol.CodeUnauthorized, "expired"},
		{"token of a host", send("PUT", rename, `{}`, "Authorization: Bearer host"), 403, protocol.CodeForbidden, "role"},
		{"token of another game", send("PUT", rename, `{}`, "Authorization: Bearer foreign"), 403, protocol.CodeForbidden, "another game"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := serve(t, New(configOf(&fakeBackend{})), tt.call)
			p := problemIn(t, rec.Body.Bytes())
			if rec.Code != tt.status || p.Status != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("%d %s; want %d %s with %q", rec.Code, rec.Body, tt.status, tt.code, tt.detail)
			}
			if kind := rec.Header().Get("Content-Type"); kind != "application/problem+json" {
				t.Errorf("Content-Type %q", kind)
			}
			if allow := rec.Header().Get("Allow"); tt.status == 405 && allow != strings.TrimPrefix(p.Detail, "this path takes ") {
				t.Errorf("Allow %q: %s", allow, p.Detail)
			}
			if asked := rec.Header().Get("WWW-Authenticate"); (tt.status == 401) != (asked == "Bearer") {
				t.Errorf("WWW-Authenticate %q", asked)
			}
		})
	}
}

func problemIn(t *testing.T, body []byte) problem {
	t.Helper()
	var p problem
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return p
}

// The handler recognises errors of other packages also when they are wrapped.
func TestErrorsBecomeProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err    error
		status int
		code   protocol.Code
		detail string
		retry  bool
	}{
		{identity.ErrBadDevice, 400, protocol.CodeBadRequest, "22 to 64", false},
		{eventq.ErrFull, 503, protocol.CodeOverloaded, "queue of behaviours", true},
		{taskqueue.ErrBadTask, 400, protocol.CodeBadRequest, "cannot be enqueued", false},
		{taskqueue.ErrBadRequest, 400, protocol.CodeBadRequest, "the queue", false},
		{taskqueue.ErrNotFound, 404, protocol.CodeNotFound, "task", false},
		{taskqueue.ErrTooManyPolls, 503, protocol.CodeOverloaded, "polls", true},
		{identity.ErrNoGame, 404, protocol.CodeNotFound, "game", false},
		{identity.ErrCannotSign, 403, protocol.CodeForbidden, "signed elsewhere", false},
		{&identity.TakenError{Suggestions: []string{"A-1", "A-2", "A-3"}}, 409, protocol.CodeNicknameTaken, "nickname", false},
		{nickname.ErrInvalid, 422, protocol.CodeNicknameInvalid, "nickname", false},
		{leaderboard.ErrNoWindow, 404, protocol.CodeNotFound, "leaderboard", false},
		{leaderboard.ErrNotRanked, 404, protocol.CodeNotRanked, "leaderboard", false},
		{leaderboard.ErrBadCursor, 400, protocol.CodeBadRequest, "cursor", false},
		{leaderboard.ErrNotReady, 503, protocol.CodeUnavailable, "being built", true},
		{match.ErrOverloaded, 503, protocol.CodeOverloaded, "settled", true},
		{protocol.Errorf(protocol.CodeForbidden, "not here"), 403, protocol.CodeForbidden, "not here", false},
		{match.ErrNotFound, 404, protocol.CodeNotFound, "match", false},
		{protocol.Errorf(protocol.CodeRateLimited, "slower"), 429, protocol.CodeRateLimited, "slower", true},
		{protocol.Errorf(protocol.CodeOverloaded, "later"), 503, protocol.CodeOverloaded, "later", true},
		{errStore, 503, protocol.CodeUnavailable, "out of reach", true},
		{context.DeadlineExceeded, 503, protocol.CodeUnavailable, "out of reach", true},
		{errors.New("a secret"), 500, protocol.CodeInternal, "logged", false},
	}
	for _, tt := range tests {
		t.Run(tt.err.Error(), func(t *testing.T) {
			t.Parallel()
			h := New(configOf(&fakeBackend{fail: fmt.Errorf("%w", tt.err)}))
			rec := serve(t, h, get(demo+"/leaderboards/all"))
			p := problemIn(t, rec.Body.Bytes())
			if rec.Code != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("%d %s; want %d %s with %q", rec.Code, rec.Body, tt.status, tt.code, tt.detail)
			}
			if retry := rec.Header().Get("Retry-After"); tt.retry != (retry == "2") {
				t.Errorf("Retry-After %q", retry)
			}
			if strings.Contains(rec.Body.String(), "secret") {
				t.Errorf("%s shows an internal detail", rec.Body)
			}
			if (len(p.Suggestions) == 3) != (tt.code == protocol.CodeNicknameTaken) {
				t.Errorf("suggestions %q", p.Suggestions)
			}
		})
	}
}

func TestALongDetailIsShortened(t *testing.T) {
	t.Parallel()
	rec := serve(t, New(configOf(&fakeBackend{})), get(demo+"/players/p_1/matches?limit="+strings.Repeat("界", 2000)))
	if p := problemIn(t, rec.Body.Bytes()); rec.Code != 400 || len([]rune(p.Detail)) != maxDetail+1 {
		t.Errorf("%d, a detail of %d characters", rec.Code, len([]rune(p.Detail)))
	}
}

// hangingStore returns only after the context of its caller has ended, or panics.
type hangingStore struct {
	*fakeBackend
	panics bool
}

func (s hangingStore) Listing(ctx context.Context, _ string) (leaderboard.Listing, error) {
	if s.panics {
		panic("a secret")
	}
	<-ctx.Done()
	return leaderboard.Listing{}, ctx.Err()
}

func (s hangingStore) Claim(ctx context.Context, _ string, _ taskqueue.Poll) ([]taskqueue.Task, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAPanicReturnsStatus500(t *testing.T) {
	t.Parallel()
	w := &fakeBackend{}
	c := configOf(w)
	c.Boards = newAnswer(hangingStore{w, true})
	rec := serve(t, New(c), get(demo+"/leaderboards"))
	if p := problemIn(t, rec.Body.Bytes()); rec.Code != 500 || p.Code != protocol.CodeInternal || strings.Contains(rec.Body.String(), "secret") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// Each path has a time limit. A claim may wait in addition.
func TestASlowStoreTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hangingStore{&fakeBackend{}, false}
		c := configOf(s.fakeBackend)
		c.Boards, c.Tasks = newAnswer(s), s
		h := New(c)
		for within, slow := range map[time.Duration]call{
			requestTimeout:                         get(demo + "/leaderboards"),
			requestTimeout + taskqueue.MaxPollWait: send("POST", tasks+"/claim", `{"kind":"mail","wait_ms":20000}`, bearerService),
		} {
			startedAt := time.Now()
			rec := serve(t, h, slow)
			if elapsed := time.Since(startedAt); rec.Code != 503 || elapsed != within {
				t.Errorf("%s: %d after %v", slow.target, rec.Code, elapsed)
			}
		}
	})
}

func TestAClosedRequestIsCountedAs499(t *testing.T) {
	t.Parallel()
	w := &fakeBackend{}
	c := configOf(w)
	c.Boards = newAnswer(hangingStore{w, false})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := newRecorder()
	New(c).ServeHTTP(rec, get(demo+"/leaderboards").request(t).WithContext(ctx))
	if rec.Code != statusClientClosed || rec.Body.Len() > 0 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestWithoutPageOrWebsocket(t *testing.T) {
	t.Parallel()
	c := configOf(&fakeBackend{})
	c.Page, c.Websocket = nil, nil
	h := New(c)
	for _, target := range []string{"/", "/app.js", "/v1/ws"} {
		rec := newRecorder()
		h.ServeHTTP(rec, get(target).request(t))
		if p := problemIn(t, rec.Body.Bytes()); rec.Code != http.StatusNotFound || p.Code != protocol.CodeNotFound {
			t.Errorf("%s: %d %s", target, rec.Code, rec.Body)
		}
	}
}

// countingReader counts the bytes that are read from it.
type countingReader struct {
	io.Reader
	read int
}

func (c *countingReader) Read(p []byte) (n int, err error) {
	n, err = c.Reader.Read(p)
	c.read += n
	return n, err
}

// A body whose Content-Length is too large is not read. A body without
// Content-Length is read up to the limit.
func TestATooLargeBodyIsNotRead(t *testing.T) {
	t.Parallel()
	h := New(configOf(&fakeBackend{}))
	for length, most := range map[int64]int{maxBody + 2: 0, -1: maxBody + 1024} {
		body := &countingReader{Reader: strings.NewReader(strings.Repeat("d", maxBody+1<<20))}
		r := send("POST", demo+"/guests", "").request(t)
		r.Body, r.ContentLength = io.NopCloser(body), length
		rec := newRecorder()
		h.ServeHTTP(rec, r)
		if p := problemIn(t, rec.Body.Bytes()); rec.Code != http.StatusRequestEntityTooLarge || p.Code != protocol.CodePayloadTooLarge || body.read > most {
			t.Errorf("with Content-Length %d, %d bytes were read: %d %s", length, body.read, rec.Code, rec.Body)
		}
	}
}
