package ledger

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
)

// cursorAt returns the cursor to the rows before an instant (epoch ms) and an id, newest
// first.
func cursorAt(at int64, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at, 10) + ":" + id))
}

// parseCursor returns the place before which the page begins; "" is the newest. ok is
// false if cursorAt has not written the cursor.
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
	if !ok || err != nil || isBadID(id) {
		return 0, "", false
	}
	return at, id, true
}
