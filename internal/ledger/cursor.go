package ledger

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
)

// cursorAt is the cursor of what comes before an instant (epoch ms) and an id,
// newest first.
func cursorAt(at int64, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at, 10) + ":" + id))
}

// parseCursor gives the place before which the page begins; "" is the newest.
// It reports false for what cursorAt does not write.
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
