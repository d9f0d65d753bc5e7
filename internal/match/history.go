package match

import "errors"

// HistoryEntry is a settled match in the history of one of its players.
type HistoryEntry struct {
	Match   string `json:"match"`
	Mode    Mode   `json:"mode"`
	OverAt  int64  `json:"over_at"` // cluster time, epoch ms
	Rank    int    `json:"rank"`
	Score   int64  `json:"score"`
	Correct int    `json:"correct"`
	Players int    `json:"players"`
}

// ErrBadCursor reports a cursor that the history did not return.
var ErrBadCursor = errors.New("match: cursor not understood")
