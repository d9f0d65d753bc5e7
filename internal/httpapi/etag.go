package httpapi

import (
	"net/http"
	"strings"

	"laststand/internal/leaderboard"
)

// The values of Cache-Control. Leaderboards may be cached for a second. A
// leaderboard of a past day and a settled match may be cached for a minute:
// only corrections and new nicknames change them.
const (
	cacheOneSecond = "public, max-age=1"
	cacheOneMinute = "public, max-age=60"
)

// writeCacheable writes a leaderboard or a match. If the client already has this
// version (If-None-Match), it writes status 304 without a body.
func writeCacheable(w http.ResponseWriter, r *request, body leaderboard.Answer) error {
	header := w.Header()
	header.Set("Cache-Control", cacheOneSecond)
	if body.IsFinal {
		header.Set("Cache-Control", cacheOneMinute)
	}
	tag := `"` + body.ETag + `"`
	header.Set("ETag", tag)
	if matchesETag(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeResponse(w, http.StatusOK, "application/json", body.JSON)
	return nil
}

// matchesETag returns true if the values of If-None-Match contain a tag. It uses
// the weak comparison (RFC 9110, 13.1.2).
func matchesETag(values []string, tag string) bool {
	for _, value := range values {
		for candidate := range strings.SplitSeq(value, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
				return true
			}
		}
	}
	return false
}
