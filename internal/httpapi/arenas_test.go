package httpapi

import (
	"crypto/tls"
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"testing"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/protocol"
)

const newArena = `{"mode":"buzzer","name":"Cup","teams":[{"id":"north","name":"North"}],"questions":{"count":10,"lang":"en"},"pace":"host","ranked":true}`

func TestArenaRequestsArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	w := &fakeBackend{}
	serve(t, New(configOf(w)), send("POST", demo+"/arenas", newArena, "Authorization: Bearer host"))
	want := arena.CreateRequest{Game: "demo", Creator: "p_1", Role: identity.RoleHost, NewArena: protocol.NewArena{
		Mode: "buzzer", Name: "Cup", Teams: []protocol.ArenaTeam{{ID: "north", Name: "North"}},
		Questions: protocol.ArenaQuestions{Count: 10, Lang: "en"}, Pace: "host", Ranked: true,
	}}
	if !reflect.DeepEqual(w.arena, want) {
		t.Errorf("the service was asked for %+v", w.arena)
	}
}

func TestAnErasedHostCannotCreateAnArena(t *testing.T) {
	t.Parallel()
	w := &fakeBackend{erased: map[string]bool{"p_1": true}}
	rec := serve(t, New(configOf(w)), send("POST", demo+"/arenas", newArena, "Authorization: Bearer host"))
	if p := problemIn(t, rec.Body.Bytes()); rec.Code != 401 || p.Code != protocol.CodeUnauthorized || w.arena.Game != "" {
		t.Errorf("%d %+v, the service was asked for %+v", rec.Code, p, w.arena)
	}
}

// The link leads to the host of the request and never anywhere else.
func TestTheJoinURLHasTheHostOfTheRequest(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"quiz.example":         "http://quiz.example/g/demo/join/402951",
		"quiz.example:8080":    "http://quiz.example:8080/g/demo/join/402951",
		"127.0.0.1:8080":       "http://127.0.0.1:8080/g/demo/join/402951",
		"[::1]:8080":           "http://[::1]:8080/g/demo/join/402951",
		"":                     "",
		"quiz.example/evil":    "",
		"quiz.example@evil":    "",
		"quiz.example?x":       "",
		"quiz.example#x":       "",
		"quiz.example:port":    "",
		`"><script>`:           "",
		"quiz.example:8080:80": "",
	} {
		if got := joinURL(t, host, false); got != want {
			t.Errorf("Host %q: %q, want %q", host, got, want)
		}
	}
	if got := joinURL(t, "quiz.example", true); got != "https://quiz.example/g/demo/join/402951" {
		t.Errorf("over TLS: %q", got)
	}
}

// joinURL creates an arena with a request to a host. It returns the link of the arena, or "" if the
// server refuses.
func joinURL(t *testing.T, host string, secure bool) string {
	t.Helper()
	r := send("POST", demo+"/arenas", newArena, bearerGood).request(t)
	if r.Host = host; secure {
		r.TLS = &tls.ConnectionState{}
	}
	rec := httptest.NewRecorder()
	w := &fakeBackend{}
	New(configOf(w)).ServeHTTP(rec, r)
	checkResponse(t, r, rec)
	if rec.Code != 201 {
		if p := problemIn(t, rec.Body.Bytes()); p.Code != protocol.CodeBadRequest || w.arena.Game != "" {
			t.Errorf("Host %q: %+v, the service was asked for %+v", host, p, w.arena)
		}
		return ""
	}
	var made protocol.ArenaMade
	if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	return made.JoinURL
}

// The handler does not look up a malformed code.
func TestArenaCodesArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	w := &fakeBackend{}
	h := New(configOf(w))
	for _, code := range []string{"1", "12345a", "1234567", "-12345", "%20%20%20%20%20%20"} {
		serve(t, h, get(demo+"/arenas/"+code))
	}
	if w.code != "" {
		t.Errorf("the code %q was looked up", w.code)
	}
	rec := serve(t, h, get(demo+"/arenas/000402"))
	if w.code != "000402" || rec.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("the code %q was looked up, Cache-Control %q", w.code, rec.Header().Get("Cache-Control"))
	}
}
