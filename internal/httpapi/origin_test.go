package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"laststand/internal/httpserver"
)

// Behind a trusted proxy with TLS, a page without TLS has another origin. The
// header of an untrusted client is ignored.
func TestOnlyTrustedProxiesDecideWhetherAPageUsesTLS(t *testing.T) {
	t.Parallel()
	trusted, err := httpserver.ParseTrustedProxies([]string{"192.0.2.1"}) // the address of requests in tests
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		trustedProxies *httpserver.TrustedProxies
		proto          string
		allowed        bool
	}{
		"a proxy with TLS": {trusted, "https", false}, "a proxy without TLS": {trusted, "http", true},
		"a proxy without the header": {trusted, "", true}, "an untrusted client": {nil, "https", true},
	} {
		config := newTestConfig(&fakeBackend{})
		config.IsOriginAllowed = httpserver.NewOrigins(nil, test.trustedProxies.IsTLS).Allow
		rec := serve(t, New(config), call{"GET", demoPath + "/players/p_1", "", []string{"Origin: http://quiz.example", "X-Forwarded-Proto: " + test.proto}})
		if allowed := rec.Header().Get("Access-Control-Allow-Origin") != ""; rec.Code != http.StatusOK || allowed != test.allowed {
			t.Errorf("%s: %d, allowed %v", name, rec.Code, allowed)
		}
	}
}

func TestOnlyAllowedOriginsMayReadResponses(t *testing.T) {
	t.Parallel()
	c := newTestConfig(&fakeBackend{})
	c.IsOriginAllowed = httpserver.NewOrigins([]string{"https://play.example"}, func(*http.Request) bool { return false }).Allow
	h := New(c)
	for origin, allowed := range map[string]bool{
		"https://play.example": true, "https://quiz.example": true, "http://quiz.example": true, // the second and third have the host of the requests
		"https://play.example.evil": false, "http://play.example": false, "https://evil.example": false, "null": false, "": false, ":": false,
	} {
		var headers []string
		if origin != "" {
			headers = []string{"Origin: " + origin}
		}
		rec := serve(t, h, call{"GET", demoPath + "/players/p_1", "", headers})
		got := rec.Header().Get("Access-Control-Allow-Origin")
		if rec.Code != http.StatusOK || allowed != (got == origin && origin != "") || !allowed && got != "" {
			t.Errorf("origin %q: %d, allowed %q", origin, rec.Code, got)
		}
		if rec.Header().Get("Vary") != "Origin" {
			t.Errorf("origin %q: Vary %q", origin, rec.Header().Get("Vary"))
		}
	}
}

func TestPreflightsOfAllowedOriginsAreAnswered(t *testing.T) {
	t.Parallel()
	c := newTestConfig(&fakeBackend{})
	c.IsOriginAllowed = httpserver.NewOrigins([]string{"https://play.example"}, func(*http.Request) bool { return false }).Allow
	h := New(c)
	preflight := func(origin string) call {
		return call{"OPTIONS", demoPath + "/players/me/nickname", "", []string{
			"Origin: " + origin, "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: authorization,content-type",
		}}
	}
	rec := serve(t, h, preflight("https://play.example"))
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "https://play.example", "Access-Control-Allow-Methods": "PUT",
		"Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match", "Vary": "Origin",
	} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if rec.Code != http.StatusNoContent || rec.Body.Len() > 0 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	rec = serve(t, h, preflight("https://evil.example"))
	for name := range rec.Header() {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("a foreign origin gets %s", name)
		}
	}
	if rec.Code != http.StatusForbidden {
		t.Errorf("a foreign origin: %d", rec.Code)
	}
}
