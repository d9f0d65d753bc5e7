package httpapi

import (
	"net/http"
	"strings"

	"laststand/internal/leaderboard/display"
)

// What caches may do with boards: hold them for a second, and those of a day
// that is over, which only corrections and new names change, for a minute. A
// settled match changes in no other way either.
const (
	forASecond = "public, max-age=1"
	forAMinute = "public, max-age=60"
)

// answerShown writes what a board or a match shows, or 304 to who has it already.
func answerShown(w http.ResponseWriter, r *request, shown display.Answer) error {
	h := w.Header()
	h.Set("Cache-Control", forASecond)
	if shown.IsFinal {
		h.Set("Cache-Control", forAMinute)
	}
	tag := `"` + shown.ETag + `"`
	h.Set("ETag", tag)
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	write(w, http.StatusOK, "application/json", shown.JSON)
	return nil
}

// matches reports whether the values of If-None-Match name a tag. They are
// compared weakly (RFC 9110, 13.1.2).
func matches(values []string, tag string) bool {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
