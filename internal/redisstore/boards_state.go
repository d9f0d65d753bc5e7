package redisstore

import (
	"encoding/json"

	"laststand/internal/leaderboard"
)

// spanFieldPrefix is the prefix of the fields of the state hash that say which board a
// requested span stands for. The open day's field has its date. The field of a rolling
// window names the board that readers see, and the first day of that board. Other spans
// have no such field.
const spanFieldPrefix = "span:"

// stateFields returns fields of the state hash and their values, alternately. It leaves out
// version, config and published. The fields for the read scripts repeat a part of progress.
// touchedAt is in epoch ms.
func stateFields(progress leaderboard.Progress, loading bool, touchedAt int64) ([]any, error) {
	packed, err := json.Marshal(progress)
	if err != nil {
		return nil, err
	}
	today := progress.Watermark.Day
	fields := []any{
		"touched", touchedAt, "loading", loading, "progress", packed,
		"pos", progress.Watermark.Pos, "day", today, "first", progress.FirstDay, "oldest", progress.OldestDay, spanFieldPrefix + leaderboard.OpenDay, today,
	}
	for window, boards := range progress.Rolling {
		fields = append(fields, spanFieldPrefix+string(window), leaderboard.RollingSpan(window, boards.Served)+" "+boards.FirstDays[boards.Served])
	}
	return fields, nil
}
