package httpapi

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
)

type paging struct {
	limit  int
	cursor string
}

// readPaging reads the query parameters limit and cursor. The default of the limit is the
// same as for leaderboards.
func readPaging(query url.Values, maxLimit int) (paging, error) {
	limit, err := httpserver.ReadLimit(query, leaderboard.DefaultLimit, maxLimit)
	return paging{limit, query.Get("cursor")}, err
}

// offsetPrefix marks a cursor that is an offset into a list that never changes.
const offsetPrefix = "o"

// offsetCursor returns the cursor of the page that starts at index n.
func offsetCursor(n int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(offsetPrefix + strconv.Itoa(n)))
}

// indexRange returns the indexes from to to-1 of the page in a list of n
// elements, and the cursor of the next page. The cursor after the last page is
// "". The list must never change, since cursors contain indexes.
func (p paging) indexRange(n int) (from, to int, next string, err error) {
	if p.cursor != "" {
		raw, _ := base64.RawURLEncoding.DecodeString(p.cursor)
		from, _ = strconv.Atoi(strings.TrimPrefix(string(raw), offsetPrefix))
		if from < 1 || from >= n || offsetCursor(from) != p.cursor {
			return 0, 0, "", match.ErrBadCursor
		}
	}
	to = min(n, from+p.limit)
	if to < n {
		next = offsetCursor(to)
	}
	return from, to, next, nil
}
