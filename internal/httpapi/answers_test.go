package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
)

const bearerGood = "Authorization: Bearer good"

func TestValidRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	newGuest := `{"device":"` + device + `","nickname":"Ada","arena":"123456"}`
	tests := []struct {
		name   string
		call   call
		status int
		want   string // a part of the body
	}{
		{"new guest", jsonCall("POST", demoPath+"/guests", newGuest), 201, `{"player_id":"p_1","nickname":"Ada","token":"a.b.c","expires_at":1795212345678}`},
		{"known guest", jsonCall("POST", demoPath+"/guests", `{"device":"`+device+`"}`), 200, `"player_id":"p_1"`},
		{"charset", call{"POST", demoPath + "/guests", newGuest, []string{"Content-Type: application/json; charset=utf-8"}}, 201, "p_1"},
		{"free nickname", getCall(demoPath + "/nicknames/A%2Fda"), 200, `{"nickname":"A/da","available":true,"suggestions":[]}`},
		{"taken nickname", getCall(demoPath + "/nicknames/Taken"), 200, `"suggestions":["A-1","A-2","A-3"]`},
		{"rename", jsonCall("PUT", demoPath+"/players/me/nickname", `{"nickname":"阿达"}`, bearerGood), 200, `{"nickname":"阿达"}`},
		{"scheme of another case", jsonCall("PUT", demoPath+"/players/me/nickname", `{"nickname":"Ada"}`, "Authorization: bearer good"), 200, "Ada"},
		{"profile", getCall(demoPath + "/players/p_1"), 200, `"rating":1517,"score":41000,"time_ms":812345,"matches":41,"asked":410,"answered":405,"correct":371,"accuracy":0.9049`},
		{"profile of a newcomer", getCall(demoPath + "/players/p_new"), 200, `"rating":1500,"score":0,"time_ms":0,"matches":0,"asked":0,"answered":0,"correct":0,"accuracy":0,`},
		{"history", getCall(demoPath + "/players/p_1/matches?limit=1"), 200, `"rank":1,"score":1642,"correct":9,"players":2}],"next_cursor":"next"}`},
		{"history of a newcomer", getCall(demoPath + "/players/p_new/matches"), 200, `{"matches":[]}`},
		{"match", getCall(demoPath + "/matches/m_1"), 200, `"rating":1516,"rating_delta":16},{"rank":2`},
		{"own answers", getCall(demoPath+"/matches/m_1/answers", bearerGood), 200, `{"questions":[` +
			`{"question":0,"given":{"choice":1},"correct":true,"elapsed_ms":1234,"points":187,"text":"Capital?","kind":"single","choices":["Rome","Oslo"],"answer":{"choice":1},"explanation":"It is."},` +
			`{"question":1,"given":null,"correct":false,"elapsed_ms":null,"points":0,"text":"When?","kind":"number","answer":{"value":1969,"tolerance":0}},` +
			`{"question":2,"given":null,"correct":false,"elapsed_ms":null,"points":0,"text":"Capital?","kind":"single","choices":["Rome","Oslo"],"answer":{"choice":1},"explanation":"It is."}]}`},
		{"match of teams", getCall(demoPath + "/matches/m_teams?limit=1"), 200, `"teams":[{"rank":1,"id":"north","score":1},{"rank":2,"id":"south","score":0}],` +
			`"firsts":[{"question":3,"player":"p_1","nickname":"Ada","team":"north","at":1795212345678,"elapsed_ms":87}],"next_cursor"`},
		{"arena of a player", jsonCall("POST", demoPath+"/arenas", newArenaJSON, bearerGood), 201, `{"arena_id":"a_1","code":"402951","join_url":"http://quiz.example/g/demo/join/402951"}`},
		{"arena of a host", jsonCall("POST", demoPath+"/arenas", newArenaJSON, "Authorization: Bearer host"), 201, `"arena_id":"a_1"`},
		{"own arenas", getCall(demoPath+"/players/me/arenas", "Authorization: Bearer host"), 200, `{"arenas":[` +
			`{"arena_id":"a_2","name":"p_1","mode":"race","state":"lobby","created_at":1795212345678,"players":3},` +
			`{"arena_id":"a_1","name":"Cup","mode":"survival","state":"over","created_at":1795212345677,"players":7,"match":"m_1"}],"next_cursor":">"}`},
		{"own arenas of an account", getCall(demoPath+"/players/me/arenas?limit=1&cursor=x", "Authorization: Bearer account"), 200, `"name":"p_1","mode":"race","state":"lobby","created_at":1795212345678,"players":3}],"next_cursor":"x>"}`},
		{"public view of an arena", getCall(demoPath + "/arenas/402951"), 200, `{"arena_id":"a_1","name":"Cup","mode":"survival","state":"lobby","teams":[],"players":3}`},
		{"leaderboards", getCall(demoPath + "/leaderboards"), 200, `"kinds":["player","team"],"time_zone":"UTC","day":"2026-11-20"`},
		{"leaderboard", getCall(demoPath + "/leaderboards/all"), 200, `"nickname":"Nick p_1","value":41000`},
		{"leaderboard of players", getCall(demoPath + "/leaderboards/all?kind=player&limit=200&order=score&around=p_1"), 200, `"next_cursor":"n","prev_cursor":"p"`},
		{"leaderboard of teams", getCall(demoPath + "/leaderboards/7d?kind=team"), 200, `"nickname":"Team p_1","value":41000`},
		{"standing of a team", getCall(demoPath + "/leaderboards/7d/p_1?kind=team"), 200, `"nickname":"Team p_1","value":41000`},
		{"standing", getCall(demoPath + "/leaderboards/all/p_1"), 200, `"total":3,"percentile":66.6,"to_next":12.5}`},
		{"standing explained", getCall(demoPath + "/leaderboards/all/p_1?explain=1"), 200, `"tie":{"shared_by":2,"place":1,"position":17}`},
		{"health", getCall("/healthz"), 200, `{"status":"ok","checks":{},"version":"0.1.0"}`},
		{"readiness", getCall("/readyz"), 200, `{"status":"ready","checks":{}}`},
		{"openapi", getCall("/openapi.yaml"), 200, "openapi: 3.1.0"},
		{"asyncapi", getCall("/asyncapi.yaml"), 200, "asyncapi: 3.0.0"},
		{"websocket", getCall("/v1/ws"), 101, ""},
		{"page", getCall("/app.js"), 200, "page /app.js"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := serve(t, New(newTestConfig(&fakeBackend{})), tt.call)
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.want) {
				t.Errorf("%d %s; want %d with %s", rec.Code, rec.Body, tt.status, tt.want)
			}
		})
	}
}

func TestAnEmptyLeaderboardHasAnEmptyList(t *testing.T) {
	t.Parallel()
	rec := serve(t, New(newTestConfig(&fakeBackend{empty: true})), getCall(demoPath+"/leaderboards/all"))
	if !strings.Contains(rec.Body.String(), `"entries":[]`) {
		t.Errorf("%s", rec.Body)
	}
}

func TestGuestRequestsArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	h := New(newTestConfig(backend))
	for header, lang := range map[string]string{
		"zh-CN,zh;q=0.9,en;q=0.8": "zh-CN", "zh-Hans": "zh-CN", "en-GB": "en", "fr": "en", "": "en", "!": "en",
	} {
		serve(t, h, jsonCall("POST", demoPath+"/guests", `{"device":"`+device+`","nickname":"Ada"}`, "Accept-Language: "+header))
		if want := (identity.GuestRequest{Game: "demo", Device: device, Nickname: "Ada", Lang: lang, Address: "192.0.2.1"}); !reflect.DeepEqual(backend.guest, want) {
			t.Errorf("Accept-Language %q: the service was asked for %+v", header, backend.guest)
		}
	}
}

func TestNicknameRequestsArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	h := New(newTestConfig(backend))
	for header, want := range map[string]identity.Requester{
		"Authorization: Bearer good":    {Player: "p_1", Address: "192.0.2.1", Lang: "en"},
		"Authorization: Bearer foreign": {Address: "192.0.2.1", Lang: "en"},
		"Authorization: Bearer expired": {Address: "192.0.2.1", Lang: "en"},
		"Accept-Language: zh":           {Address: "192.0.2.1", Lang: "zh-CN"},
	} {
		if serve(t, h, jsonCall("GET", demoPath+"/nicknames/Ada", "", header)); backend.requester != want {
			t.Errorf("%s: the requester is %+v, want %+v", header, backend.requester, want)
		}
	}
	serve(t, h, jsonCall("PUT", demoPath+"/players/me/nickname", `{"nickname":"Ada"}`, "Authorization: Bearer good", "Accept-Language: zh"))
	if want := (identity.Requester{Player: "p_1", Address: "192.0.2.1", Lang: "zh-CN"}); backend.requester != want {
		t.Errorf("the requester of the rename is %+v", backend.requester)
	}
	ipv6Request := jsonCall("GET", demoPath+"/nicknames/Ada", "").request(t)
	ipv6Request.RemoteAddr = "[2001:db8::12:1]:4711"
	if h.ServeHTTP(httptest.NewRecorder(), ipv6Request); backend.requester.Address != "2001:db8::/64" {
		t.Errorf("IPv6 address key %q: a client has all addresses of its /64", backend.requester.Address)
	}
}

func TestLeaderboardQueriesArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	serve(t, New(newTestConfig(backend)), getCall(demoPath+"/leaderboards/day?order=time&limit=7&players=p_1,p_2&date=2026-11-19"))
	if q := backend.query; q.Window != leaderboard.Day || q.Order != leaderboard.ByTime || q.Limit != 7 || q.Players != "p_1,p_2" || q.Date != "2026-11-19" {
		t.Errorf("the service was asked for %+v", q)
	}
}

func TestStandingsOfAMatchArePaged(t *testing.T) {
	t.Parallel()
	handler := New(newTestConfig(&fakeBackend{}))
	var players []string
	target := demoPath + "/matches/m_1?limit=2"
	for range 3 {
		rec := serve(t, handler, getCall(target))
		var m finishedMatch
		if err := json.Unmarshal(rec.Body.Bytes(), &m); err != nil {
			t.Fatalf("%s: %v", rec.Body, err)
		}
		for _, s := range m.Standings {
			players = append(players, s.Player)
		}
		if m.NextCursor == "" {
			break
		}
		target = demoPath + "/matches/m_1?limit=2&cursor=" + m.NextCursor
	}
	if got := strings.Join(players, " "); got != "p_1 p_2 p_3" {
		t.Errorf("the pages have %s", got)
	}
}

func TestRatingsAreRounded(t *testing.T) {
	t.Parallel()
	for want, r := range map[int]match.Rating{1500: {}, 1499: {R: 1499.4, RD: 90, Sigma: 0.06}, 1602: {R: 1601.5, RD: 90, Sigma: 0.06}} {
		if got := r.Rounded(); got != want {
			t.Errorf("%+v is shown as %d", r, got)
		}
	}
}

// A real server strips the body of a HEAD response; a recorder does not.
func TestAHEADResponseHasTheLengthOfTheGETBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(New(newTestConfig(&fakeBackend{})))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+demoPath+"/players/p_1", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	getResponse := serve(t, New(newTestConfig(&fakeBackend{})), getCall(demoPath+"/players/p_1"))
	if response.StatusCode != http.StatusOK || response.ContentLength != int64(getResponse.Body.Len()) {
		t.Errorf("HEAD: %d, length %d; want 200, %d", response.StatusCode, response.ContentLength, getResponse.Body.Len())
	}
	server.Client().CloseIdleConnections()
}

func TestResponsesHaveTheHeadersOfTheContract(t *testing.T) {
	t.Parallel()
	rec := serve(t, New(newTestConfig(&fakeBackend{})), getCall(demoPath+"/players/p_1"))
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Content-Type": "application/json", "Vary": "Origin",
	} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
