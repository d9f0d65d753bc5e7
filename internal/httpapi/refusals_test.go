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
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

func TestBadRequestsGetAProblem(t *testing.T) {
	t.Parallel()
	reports := demoPath + "/arenas"
	guests, rename, board := demoPath+"/guests", demoPath+"/players/me/nickname", demoPath+"/leaderboards/all"
	checkRefusals(t, map[string]refusal{
		"unknown path":                           {getCall("/v1/nothing"), 404, protocol.CodeNotFound, "/openapi.yaml"},
		"unknown path of a game":                 {getCall(demoPath + "/arena/402951"), 404, protocol.CodeNotFound, "/openapi.yaml"},
		"unknown arena":                          {getCall(demoPath + "/arenas/000000"), 404, protocol.CodeNotFound, "no such arena"},
		"code too short":                         {getCall(demoPath + "/arenas/40295"), 404, protocol.CodeNotFound, "6 digits"},
		"code of other digits":                   {getCall(demoPath + "/arenas/" + url.PathEscape("٤٠٢٩٥١")), 404, protocol.CodeNotFound, "6 digits"},
		"parameter of an arena":                  {getCall(demoPath + "/arenas/402951?as=host"), 400, protocol.CodeBadRequest, `"as"`},
		"arena without a token":                  {jsonCall("POST", demoPath+"/arenas", newArenaJSON), 401, protocol.CodeUnauthorized, "Bearer"},
		"arena of a service":                     {jsonCall("POST", demoPath+"/arenas", newArenaJSON, "Authorization: Bearer service"), 403, protocol.CodeForbidden, "role"},
		"arena of another game":                  {jsonCall("POST", demoPath+"/arenas", newArenaJSON, "Authorization: Bearer foreign"), 403, protocol.CodeForbidden, "another game"},
		"arena of an unknown field":              {jsonCall("POST", demoPath+"/arenas", `{"mode":"buzzer","name":"A","questions":{"count":1,"kind":"text"},"pace":"auto"}`, bearerGood), 400, protocol.CodeBadRequest, `"kind"`},
		"arena of an unknown field of a team":    {jsonCall("POST", demoPath+"/arenas", `{"mode":"buzzer","name":"A","teams":[{"id":"x","name":"X","host":1}],"questions":{"count":1},"pace":"auto"}`, bearerGood), 400, protocol.CodeBadRequest, `"host"`},
		"arena without a mode":                   {jsonCall("POST", demoPath+"/arenas", `{"name":"A","questions":{"count":1},"pace":"auto"}`, bearerGood), 400, protocol.CodeBadRequest, `"mode"`},
		"arena as a form":                        {call{"POST", demoPath + "/arenas", "mode=buzzer", []string{bearerGood}}, 415, protocol.CodeBadRequest, "application/json"},
		"method of the arenas":                   {getCall(demoPath + "/arenas"), 405, protocol.CodeBadRequest, "POST"},
		"method of an arena":                     {jsonCall("PUT", demoPath+"/arenas/402951", "{}"), 405, protocol.CodeBadRequest, "GET, HEAD"},
		"erasure without a token":                {call{method: "DELETE", target: demoPath + "/players/me"}, 401, protocol.CodeUnauthorized, ""},
		"erasure by a host":                      {call{method: "DELETE", target: demoPath + "/players/me", headers: []string{"Authorization: Bearer host"}}, 403, protocol.CodeForbidden, ""},
		"erasure by a banned player":             {call{method: "DELETE", target: demoPath + "/players/me", headers: []string{"Authorization: Bearer banned"}}, 403, protocol.CodeForbidden, "until 2026-11-20T22:05:45Z: two accounts"},
		"profile of oneself":                     {getCall(demoPath + "/players/me"), 405, protocol.CodeBadRequest, ""},
		"an account without a player's token":    {jsonCall("PUT", demoPath+"/players/me/account", `{"token":"x"}`), 401, protocol.CodeUnauthorized, ""},
		"an account without a token":             {jsonCall("PUT", demoPath+"/players/me/account", `{}`, bearerGood), 400, protocol.CodeBadRequest, ""},
		"arenas without a token":                 {getCall(demoPath + "/players/me/arenas"), 401, protocol.CodeUnauthorized, "Bearer"},
		"arenas of a service":                    {getCall(demoPath+"/players/me/arenas", "Authorization: Bearer service"), 403, protocol.CodeForbidden, "role"},
		"arenas of another game":                 {getCall(demoPath+"/players/me/arenas", "Authorization: Bearer foreign"), 403, protocol.CodeForbidden, "another game"},
		"cursor of arenas":                       {getCall(demoPath+"/players/me/arenas?cursor=bad", bearerGood), 400, protocol.CodeBadRequest, "cursor"},
		"limit of arenas":                        {getCall(demoPath+"/players/me/arenas?limit=201", bearerGood), 400, protocol.CodeBadRequest, "1 to 200"},
		"report without a token":                 {getCall(reports + "/a_1/report"), 401, protocol.CodeUnauthorized, "Bearer"},
		"report for a player":                    {getCall(reports+"/a_2/report", bearerGood), 403, protocol.CodeForbidden, "only the host"},
		"report for another host":                {getCall(reports+"/a_2/report", "Authorization: Bearer host"), 403, protocol.CodeForbidden, "only the host"},
		"report of an erased host":               {getCall(reports+"/a_erased/report", "Authorization: Bearer host"), 403, protocol.CodeForbidden, "only the host"},
		"report for a service of another game":   {getCall(reports+"/a_1/report", "Authorization: Bearer foreign"), 403, protocol.CodeForbidden, "another game"},
		"report for a banned player":             {getCall(reports+"/a_1/report", "Authorization: Bearer banned"), 403, protocol.CodeForbidden, "until"},
		"report of an unknown arena":             {getCall(reports+"/a_unknown/report", bearerGood), 404, protocol.CodeNotFound, "no such arena"},
		"report of a running arena":              {getCall(reports+"/a_open/report", bearerGood), 409, protocol.CodeNotOver, "not over"},
		"report of an arena without a match":     {getCall(reports+"/a_closed/report", bearerGood), 404, protocol.CodeNotFound, "no report"},
		"report whose answers were deleted":      {getCall(reports+"/a_old/report", bearerGood), 404, protocol.CodeNotFound, "deleted"},
		"void without a token":                   {jsonCall("POST", reports+"/a_1/voids", `{"question":0}`), 401, protocol.CodeUnauthorized, "Bearer"},
		"void by a player":                       {jsonCall("POST", reports+"/a_2/voids", `{"question":0}`, bearerGood), 403, protocol.CodeForbidden, "only the host"},
		"void by another host":                   {jsonCall("POST", reports+"/a_2/voids", `{"question":0}`, "Authorization: Bearer host"), 403, protocol.CodeForbidden, "only the host"},
		"void in an unknown arena":               {jsonCall("POST", reports+"/a_unknown/voids", `{"question":0}`, bearerGood), 404, protocol.CodeNotFound, "no such arena"},
		"void in a running arena":                {jsonCall("POST", reports+"/a_open/voids", `{"question":0}`, bearerGood), 409, protocol.CodeNotOver, "not over"},
		"void without a question":                {jsonCall("POST", reports+"/a_1/voids", `{}`, bearerGood), 400, protocol.CodeBadRequest, "question"},
		"void with a long reason":                {jsonCall("POST", reports+"/a_1/voids", `{"question":0,"reason":"`+strings.Repeat("x", 501)+`"}`, bearerGood), 400, protocol.CodeBadRequest, "500"},
		"void with a zero byte":                  {jsonCall("POST", reports+"/a_1/voids", `{"question":0,"reason":"\u0000"}`, bearerGood), 400, protocol.CodeBadRequest, "NUL"},
		"void of no question":                    {jsonCall("POST", reports+"/a_1/voids", `{"question":6}`, bearerGood), 400, protocol.CodeBadRequest, "no such question"},
		"void in a survival match":               {jsonCall("POST", reports+"/a_1/voids", `{"question":7}`, bearerGood), 409, protocol.CodeBadRequest, "survival"},
		"void after an hour":                     {jsonCall("POST", reports+"/a_1/voids", `{"question":8}`, bearerGood), 403, protocol.CodeForbidden, "hour"},
		"void before all answers are stored":     {jsonCall("POST", reports+"/a_1/voids", `{"question":9}`, bearerGood), 503, protocol.CodeUnavailable, "not stored yet"},
		"limit of a report":                      {getCall(reports+"/a_1/report?limit=501", bearerGood), 400, protocol.CodeBadRequest, "1 to 500"},
		"format of a report":                     {getCall(reports+"/a_1/report?format=pdf", bearerGood), 400, protocol.CodeBadRequest, "json, csv or xlsx"},
		"cursor of a report":                     {getCall(reports+"/a_1/report?cursor="+offsetCursor(3), bearerGood), 400, protocol.CodeBadRequest, "cursor"},
		"unknown game":                           {getCall("/v1/games/nowhere/players/p_1"), 404, protocol.CodeNotFound, "no such game"},
		"unknown player":                         {getCall(demoPath + "/players/p_9"), 404, protocol.CodeNotFound, "no such player"},
		"history of an unknown player":           {getCall(demoPath + "/players/p_9/matches"), 404, protocol.CodeNotFound, "no such player"},
		"answers without a token":                {getCall(demoPath + "/matches/m_1/answers"), 401, protocol.CodeUnauthorized, "Bearer"},
		"answers for a host":                     {getCall(demoPath+"/matches/m_1/answers", "Authorization: Bearer host"), 403, protocol.CodeForbidden, ""},
		"answers for a player of another game":   {getCall(demoPath+"/matches/m_1/answers", "Authorization: Bearer foreign"), 403, protocol.CodeForbidden, "another game"},
		"answers of a match of others":           {getCall(demoPath+"/matches/m_2/answers", bearerGood), 403, protocol.CodeForbidden, "only players of the match"},
		"answers of an unknown match":            {getCall(demoPath+"/matches/m_9/answers", bearerGood), 404, protocol.CodeNotFound, "no such match"},
		"answers of a match that is not settled": {getCall(demoPath+"/matches/m_unsettled/answers", bearerGood), 503, protocol.CodeUnavailable, "not settled yet"},
		"answers that were deleted":              {getCall(demoPath+"/matches/m_old/answers", bearerGood), 404, protocol.CodeNotFound, "deleted"},
		"answers on their way":                   {getCall(demoPath+"/matches/m_new/answers", bearerGood), 503, protocol.CodeUnavailable, "retry later"},
		"unknown match":                          {getCall(demoPath + "/matches/m_9"), 404, protocol.CodeNotFound, "no such match"},

		"method of a path":             {jsonCall("DELETE", guests, ""), 405, protocol.CodeBadRequest, "POST"},
		"method of a read path":        {jsonCall("POST", demoPath+"/players/p_1", "{}"), 405, protocol.CodeBadRequest, "GET, HEAD"},
		"method of the websocket":      {jsonCall("POST", "/v1/ws", ""), 405, protocol.CodeBadRequest, "GET"},
		"OPTIONS that is no preflight": {call{method: "OPTIONS", target: guests}, 405, protocol.CodeBadRequest, "POST"},

		"unknown parameter":            {getCall(demoPath + "/players/p_1?page=2"), 400, protocol.CodeBadRequest, `"page"`},
		"unknown parameter of a board": {getCall(board + "?page=2"), 400, protocol.CodeBadRequest, `"page"`},
		"parameter twice":              {getCall(demoPath + "/matches/m_1?limit=1&limit=2"), 400, protocol.CodeBadRequest, `"limit"`},
		"parameter without a value":    {getCall(demoPath + "/matches/m_1?cursor="), 400, protocol.CodeBadRequest, `"cursor"`},
		"parameter with a zero byte":   {getCall(demoPath + "/players/p_1/matches?cursor=%00"), 400, protocol.CodeBadRequest, `"cursor"`},
		"path with a zero byte":        {getCall(demoPath + "/players/p%00"), 400, protocol.CodeBadRequest, "the path"},
		"query that cannot be read":    {getCall(demoPath + "/matches/m_1?limit=%zz"), 400, protocol.CodeBadRequest, "escape"},
		"query with semicolons":        {getCall(demoPath + "/matches/m_1?limit=1;cursor=2"), 400, protocol.CodeBadRequest, ""},
		"limit no number":              {getCall(demoPath + "/matches/m_1?limit=ten"), 400, protocol.CodeBadRequest, `"ten"`},
		"limit 0":                      {getCall(demoPath + "/players/p_1/matches?limit=0"), 400, protocol.CodeBadRequest, "1 to 200"},
		"limit 201":                    {getCall(demoPath + "/players/p_1/matches?limit=201"), 400, protocol.CodeBadRequest, "1 to 200"},
		"limit of a board":             {getCall(board + "?limit=201"), 400, protocol.CodeBadRequest, "200"},
		"cursor of a match":            {getCall(demoPath + "/matches/m_1?cursor=x"), 400, protocol.CodeBadRequest, "cursor"},
		"cursor beyond a match":        {getCall(demoPath + "/matches/m_1?cursor=" + offsetCursor(3)), 400, protocol.CodeBadRequest, "cursor"},
		"cursor of a history":          {getCall(demoPath + "/players/p_1/matches?cursor=bad"), 400, protocol.CodeBadRequest, "cursor"},
		"explain":                      {getCall(board + "/p_1?explain=yes"), 400, protocol.CodeBadRequest, "explain"},

		"no content type":                 {call{method: "POST", target: guests, body: "{}"}, 415, protocol.CodeBadRequest, "application/json"},
		"content type of a form":          {call{"POST", guests, "{}", []string{"Content-Type: text/plain"}}, 415, protocol.CodeBadRequest, "application/json"},
		"body too large":                  {jsonCall("POST", guests, `{"device":"`+strings.Repeat("d", maxGuestBody)+`"}`), 413, protocol.CodePayloadTooLarge, "4096"},
		"body of another route too large": {jsonCall("POST", demoPath+"/arenas", `{"name":"`+strings.Repeat("d", maxBody)+`"}`, bearerGood), 413, protocol.CodePayloadTooLarge, "1048576"},
		"body no JSON":                    {jsonCall("POST", guests, "{"), 400, protocol.CodeBadRequest, "JSON object"},
		"body no object":                  {jsonCall("POST", guests, "[]"), 400, protocol.CodeBadRequest, "JSON object"},
		"two bodies":                      {jsonCall("POST", guests, "{}{}"), 400, protocol.CodeBadRequest, "JSON object"},
		"body of broken UTF-8":            {jsonCall("POST", guests, "{\"device\":\"\xff\"}"), 400, protocol.CodeBadRequest, "UTF-8"},
		"unknown field":                   {jsonCall("POST", guests, `{"devise":"x"}`), 400, protocol.CodeBadRequest, `"devise"`},
		"field of another case":           {jsonCall("POST", guests, `{"Device":"x"}`), 400, protocol.CodeBadRequest, `"Device"`},
		"field of another type":           {jsonCall("POST", guests, `{"device":7}`), 400, protocol.CodeBadRequest, `"device"`},
		"no nickname":                     {jsonCall("PUT", rename, `{}`, bearerGood), 400, protocol.CodeBadRequest, `"nickname"`},

		"no token":              {jsonCall("PUT", rename, `{"nickname":"Ada"}`), 401, protocol.CodeUnauthorized, "Bearer"},
		"another scheme":        {jsonCall("PUT", rename, `{}`, "Authorization: Basic good"), 401, protocol.CodeUnauthorized, "Bearer"},
		"empty token":           {jsonCall("PUT", rename, `{}`, "Authorization: Bearer "), 401, protocol.CodeUnauthorized, "Bearer"},
		"two tokens":            {jsonCall("PUT", rename, `{}`, bearerGood, bearerGood), 401, protocol.CodeUnauthorized, "Bearer"},
		"bad token":             {jsonCall("PUT", rename, `{}`, "Authorization: Bearer bad"), 401, protocol.CodeUnauthorized, "expired"},
		"token of a host":       {jsonCall("PUT", rename, `{}`, "Authorization: Bearer host"), 403, protocol.CodeForbidden, "role"},
		"token of another game": {jsonCall("PUT", rename, `{}`, "Authorization: Bearer foreign"), 403, protocol.CodeForbidden, "another game"},
	})
}

// refusal is a call that the handler refuses before anything behind it is asked.
type refusal struct {
	call   call
	status int
	code   protocol.Code
	detail string // a part of it
}

func checkRefusals(t *testing.T, refusals map[string]refusal) {
	t.Helper()
	for name, tt := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := &fakeBackend{}
			rec := serve(t, New(newTestConfig(backend)), tt.call)
			p := decodeProblem(t, rec.Body.Bytes())
			if rec.Code != tt.status || p.Status != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("%d %s; want %d %s with %q", rec.Code, rec.Body, tt.status, tt.code, tt.detail)
			}
			if backend.taskRequest != nil || backend.posts != nil {
				t.Errorf("passed on %v and %d behaviours", backend.taskRequest, len(backend.posts))
			}
			if contentType := rec.Header().Get("Content-Type"); contentType != "application/problem+json" {
				t.Errorf("Content-Type %q", contentType)
			}
			if allow := rec.Header().Get("Allow"); tt.status == 405 && allow != strings.TrimPrefix(p.Detail, "this path takes ") {
				t.Errorf("Allow %q: %s", allow, p.Detail)
			}
			if challenge := rec.Header().Get("WWW-Authenticate"); (tt.status == 401) != (challenge == "Bearer") {
				t.Errorf("WWW-Authenticate %q", challenge)
			}
		})
	}
}

func decodeProblem(t *testing.T, body []byte) httpserver.Problem {
	t.Helper()
	var p httpserver.Problem
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
			h := New(newTestConfig(&fakeBackend{fail: fmt.Errorf("%w", tt.err)}))
			rec := serve(t, h, getCall(demoPath+"/leaderboards/all"))
			p := decodeProblem(t, rec.Body.Bytes())
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
	rec := serve(t, New(newTestConfig(&fakeBackend{})), getCall(demoPath+"/players/p_1/matches?limit="+strings.Repeat("界", 2000)))
	if p := decodeProblem(t, rec.Body.Bytes()); rec.Code != 400 || len([]rune(p.Detail)) != maxDetail+1 {
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
	backend := &fakeBackend{}
	c := newTestConfig(backend)
	c.Boards = newDisplay(hangingStore{backend, true})
	rec := serve(t, New(c), getCall(demoPath+"/leaderboards"))
	if p := decodeProblem(t, rec.Body.Bytes()); rec.Code != 500 || p.Code != protocol.CodeInternal || strings.Contains(rec.Body.String(), "secret") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// Each path has a time limit. A claim may wait in addition.
func TestASlowStoreTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := hangingStore{&fakeBackend{}, false}
		c := newTestConfig(store.fakeBackend)
		c.Boards, c.Tasks = newDisplay(store), store
		h := New(c)
		for within, slow := range map[time.Duration]call{
			requestTimeout:                         getCall(demoPath + "/leaderboards"),
			requestTimeout + taskqueue.MaxPollWait: jsonCall("POST", demoTasksPath+"/claim", `{"kind":"mail","wait_ms":20000}`, bearerService),
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
	backend := &fakeBackend{}
	c := newTestConfig(backend)
	c.Boards = newDisplay(hangingStore{backend, false})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := newRecorder()
	New(c).ServeHTTP(rec, getCall(demoPath+"/leaderboards").request(t).WithContext(ctx))
	if rec.Code != statusClientClosed || rec.Body.Len() > 0 {
		t.Errorf("%d %s", rec.Code, rec.Body)
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
	handler := New(newTestConfig(&fakeBackend{}))
	for length, maxRead := range map[int64]int{maxBody + 2: 0, -1: maxBody + 1024} {
		body := &countingReader{Reader: strings.NewReader(strings.Repeat("d", maxBody+1<<20))}
		r := jsonCall("POST", demoPath+"/guests", "").request(t)
		r.Body, r.ContentLength = io.NopCloser(body), length
		rec := newRecorder()
		handler.ServeHTTP(rec, r)
		if p := decodeProblem(t, rec.Body.Bytes()); rec.Code != http.StatusRequestEntityTooLarge || p.Code != protocol.CodePayloadTooLarge || body.read > maxRead {
			t.Errorf("with Content-Length %d, %d bytes were read: %d %s", length, body.read, rec.Code, rec.Body)
		}
	}
}
