package httpapi

import (
	"net/http"
	"strings"

	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
)

func (h boardRoutes) getBoards(r *request) (any, error) {
	return r.cacheable(h.Boards.Listing(r.Context(), r.game))
}

func (h boardRoutes) getBoard(r *request) (any, error) {
	query, err := leaderboard.ParseQuery(r.PathValue("window"), r.query)
	if err != nil {
		return nil, err
	}
	return r.cacheable(h.Boards.Page(r.Context(), r.game, query))
}

func (h boardRoutes) getStanding(r *request) (any, error) {
	query, err := leaderboard.ParseStandingQuery(r.PathValue("window"), r.PathValue("player"), r.query)
	if err != nil {
		return nil, err
	}
	return r.cacheable(h.Boards.Standing(r.Context(), r.game, query))
}

// The values of Cache-Control. Leaderboards may be cached for a second. A
// leaderboard of a past day and a settled match may be cached for a minute:
// only corrections and new nicknames change them.
const (
	cacheOneSecond = "public, max-age=1"
	cacheOneMinute = "public, max-age=60"
)

// cacheable returns the response with a leaderboard or a match: status 304 without
// a body if the client already has this version (If-None-Match).
func (r *request) cacheable(answer leaderboard.Answer, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	header, tag := r.w.Header(), `"`+answer.ETag+`"`
	header.Set("Cache-Control", cacheOneSecond)
	if answer.IsFinal {
		header.Set("Cache-Control", cacheOneMinute)
	}
	header.Set("ETag", tag)
	if matchesETag(r.Header.Values("If-None-Match"), tag) {
		return httpserver.Response{Status: http.StatusNotModified}, nil
	}
	return httpserver.Raw{ContentType: "application/json", Content: answer.JSON}, nil
}

// matchesETag returns true if the values of If-None-Match contain a tag. It uses
// the weak comparison (RFC 9110, 13.1.2).
func matchesETag(values []string, tag string) bool {
	for candidate := range strings.SplitSeq(strings.Join(values, ","), ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}
