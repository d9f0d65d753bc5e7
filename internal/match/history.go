package match

import "errors"

// HistoryEntry is a settled match as one of its players sees it in the history.
type HistoryEntry struct {
	Match   string `json:"match"`
	Mode    Mode   `json:"mode"`
	OverAt  int64  `json:"over_at"` // cluster time, epoch ms
	Rank    int    `json:"rank"`
	Score   int64  `json:"score"`
	Correct int    `json:"correct"`
	Players int    `json:"players"`
}

// ErrBadCursor says that a cursor is none that the history has given.
var ErrBadCursor = errors.New("match: cursor not understood")
