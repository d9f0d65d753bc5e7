package ledger

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
)

// newCursor returns the cursor of a page in which rows are ordered by time and id, newest
// first. at (epoch ms) and id are those of the last row of the former page.
func newCursor(at int64, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at, 10) + ":" + id))
}

// parseCursor returns the time and id before which the page starts. The cursor "" starts
// with the newest row. ok is false if newCursor has not returned the cursor.
func parseCursor(cursor string) (at int64, id string, ok bool) {
	if cursor == "" {
		return math.MaxInt64, "", true
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, "", false
	}
	instant, id, ok := strings.Cut(string(text), ":")
	at, err = strconv.ParseInt(instant, 10, 64)
	if !ok || err != nil || isInvalidID(id) {
		return 0, "", false
	}
	return at, id, true
}

// cutPage returns the first rows of a page for which one row more than limit was read, and
// the cursor of the next page, "" after the last. cursorAfter returns the cursor after a row.
func cutPage[T any](page []T, limit int, cursorAfter func(last *T) string) ([]T, string) {
	if len(page) <= limit {
		return page, ""
	}
	return page[:limit], cursorAfter(&page[limit-1])
}
