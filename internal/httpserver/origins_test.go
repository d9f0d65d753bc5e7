package httpserver

import (
	"strings"
	"testing"
)

func TestParseOriginReturnsTheFormOfBrowsers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://play.example":      "https://play.example",
		"HTTPS://Play.Example":      "https://play.example",
		"https://play.example:443":  "https://play.example",
		"http://play.example:80":    "http://play.example",
		"http://play.example:443":   "http://play.example:443",
		"https://play.example:8443": "https://play.example:8443",
		"http://[::1]:8080":         "http://[::1]:8080",
	} {
		if got, err := ParseOrigin(text); got != want || err != nil {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "null", "play.example", "//play.example", "https://", "https://:443", "https://play.example/", "https://play.example/a", "https://play.example?",
		"https://play.example?a", "https://play.example#", "https://u@play.example", "https://*.example", "https://a,https://b", "https://a https://b",
		"ftp://play.example", "file:///x", "chrome-extension://abc", "javascript:x", ":", "https://play.example:x", "https://%zz",
	} {
		if got, err := ParseOrigin(text); err == nil {
			t.Errorf("%q is accepted as %q", text, got)
		}
	}
}

func TestAllowsOwnAndListedOrigins(t *testing.T) {
	t.Parallel()
	origins := NewOrigins([]string{"https://Play.example", "no origin", "http://[::1]:3000"}, nil)
	if len(origins.allowed) != 2 {
		t.Errorf("the list is %q", origins.allowed)
	}
	const host = "Quiz.example:8080"
	for _, tt := range []struct {
		origin              string
		withoutTLS, withTLS bool
	}{
		{"https://play.example", true, true},
		{"https://PLAY.example:443", true, true},
		{"http://play.example", false, false},
		{"https://play.example:8443", false, false},
		{"https://play.example.evil", false, false},
		{"https://evilplay.example", false, false},
		{"https://a.play.example", false, false},
		{"https://play.example@evil.example", false, false},
		{"http://[::1]:3000", true, true},
		{"https://quiz.example:8080", true, true},
		{"http://quiz.example:8080", true, false}, // for a server with TLS, a page without TLS has another origin
		{"https://quiz.example", false, false},
		{"https://quiz.example:8080.evil", false, false},
		{"https://a.quiz.example:8080", false, false},
		{"http://quiz.example:8081", false, false},
		{"null", false, false},
		{"", false, false},
	} {
		if got := origins.allows(tt.origin, host, false); got != tt.withoutTLS {
			t.Errorf("%q without TLS: %v", tt.origin, got)
		}
		if got := origins.allows(tt.origin, host, true); got != tt.withTLS {
			t.Errorf("%q over TLS: %v", tt.origin, got)
		}
	}
	if origins.allows("null", "", false) || origins.allows("", "", false) || origins.allows("https://", "", false) {
		t.Error("an origin without a host is allowed for a request without a host")
	}
	if !origins.allows("https://quiz.example", "quiz.example:443", true) || !origins.allows("http://quiz.example", "quiz.example:80", false) {
		t.Error("the default port of a scheme makes another host")
	}
}

// FuzzOrigins checks that only origins are allowed, and none for an empty list and
// another host.
func FuzzOrigins(f *testing.F) {
	for _, seed := range []string{"https://play.example", "http://quiz.example:80", "null", "https://quiz.example@evil", "https://[::1]:443", "https://a b", "//x"} {
		f.Add(seed, "quiz.example")
	}
	f.Fuzz(func(t *testing.T, text, host string) {
		parsed, err := ParseOrigin(text)
		if reparsed, reparseErr := ParseOrigin(parsed); err == nil && (reparsed != parsed || reparseErr != nil) {
			t.Fatalf("%q is parsed as %q, and that again as %q, %v", text, parsed, reparsed, reparseErr)
		}
		if !(Origins{}).allows(text, host, true) {
			return
		}
		if originHost, ok := strings.CutPrefix(parsed, "https://"); err != nil || !ok || originHost != normalizeHost("https", host) {
			t.Fatalf("the origin %q is allowed for the host %q", text, host)
		}
	})
}
