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

const newArenaJSON = `{"mode":"buzzer","name":"Cup","teams":[{"id":"north","name":"North"}],"questions":{"count":10,"lang":"en"},"pace":"host","ranked":true}`

func TestArenaRequestsArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	serve(t, New(newTestConfig(backend)), jsonCall("POST", demoPath+"/arenas", newArenaJSON, "Authorization: Bearer host"))
	want := arena.CreateRequest{Game: "demo", Creator: "p_1", Role: identity.RoleHost, NewArena: protocol.NewArena{
		Mode: "buzzer", Name: "Cup", Teams: []protocol.ArenaTeam{{ID: "north", Name: "North"}},
		Questions: protocol.ArenaQuestions{Count: 10, Lang: "en"}, Pace: "host", Ranked: true,
	}}
	if !reflect.DeepEqual(backend.arena, want) {
		t.Errorf("the service was asked for %+v", backend.arena)
	}
}

func TestAnErasedHostCannotCreateAnArena(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{erased: map[string]bool{"p_1": true}}
	rec := serve(t, New(newTestConfig(backend)), jsonCall("POST", demoPath+"/arenas", newArenaJSON, "Authorization: Bearer host"))
	if p := decodeProblem(t, rec.Body.Bytes()); rec.Code != 401 || p.Code != protocol.CodeUnauthorized || backend.arena.Game != "" {
		t.Errorf("%d %+v, the service was asked for %+v", rec.Code, p, backend.arena)
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
func joinURL(t *testing.T, host string, overTLS bool) string {
	t.Helper()
	r := jsonCall("POST", demoPath+"/arenas", newArenaJSON, bearerGood).request(t)
	if r.Host = host; overTLS {
		r.TLS = &tls.ConnectionState{}
	}
	rec := httptest.NewRecorder()
	w := &fakeBackend{}
	New(newTestConfig(w)).ServeHTTP(rec, r)
	checkResponse(t, r, rec)
	if rec.Code != 201 {
		if p := decodeProblem(t, rec.Body.Bytes()); p.Code != protocol.CodeBadRequest || w.arena.Game != "" {
			t.Errorf("Host %q: %+v, the service was asked for %+v", host, p, w.arena)
		}
		return ""
	}
	var created protocol.ArenaMade
	if err := json.Unmarshal(rec.Body.Bytes(), &created); err != nil {
		t.Fatal(err)
	}
	return created.JoinURL
}

// The handler does not look up a malformed code.
func TestArenaCodesArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	h := New(newTestConfig(backend))
	for _, code := range []string{"1", "12345a", "1234567", "-12345", "%20%20%20%20%20%20"} {
		serve(t, h, getCall(demoPath+"/arenas/"+code))
	}
	if backend.code != "" {
		t.Errorf("the code %q was looked up", backend.code)
	}
	rec := serve(t, h, getCall(demoPath+"/arenas/000402"))
	if backend.code != "000402" || rec.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("the code %q was looked up, Cache-Control %q", backend.code, rec.Header().Get("Cache-Control"))
	}
}
