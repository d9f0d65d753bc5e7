package web

import (
	"net/http"
	"strings"
)

// policy lets the page run its own files and speak to its own host, the
// websocket included, and nothing else.
var policy = strings.Join([]string{
	"default-src 'self'",
	"script-src 'self'",
	"style-src 'self'",
	"connect-src 'self'",
	"img-src 'self'",
	"object-src 'none'",
	"base-uri 'none'",
	"form-action 'self'",
	"frame-ancestors 'none'",
	"require-trusted-types-for 'script'",
}, "; ")

// permissions takes from the page what it does not need.
const permissions = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"

func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers := w.Header()
		headers.Set("Content-Security-Policy", policy)
		headers.Set("Permissions-Policy", permissions)
		headers.Set("Cross-Origin-Opener-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
