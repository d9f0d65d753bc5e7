package redisboard

import (
	"encoding/json"
	"fmt"

	"laststand/internal/leaderboard"
)

// progressFields are the fields of the state hash that store a Progress, in the order in
// which scripts return their values.
var progressFields = []string{"epoch", "pos", "row", "day", "first", "oldest", "rolls"}

// stateFields returns fields of the state hash and their values, alternately. It leaves out
// version, config and published. touchedAt is in epoch ms.
func stateFields(progress leaderboard.Progress, loading bool, touchedAt int64) ([]any, error) {
	rolling, err := packRolling(progress.Rolling)
	if err != nil {
		return nil, err
	}
	fields := []any{"touched", touchedAt, "loading", loading}
	values := []any{progress.Watermark.Epoch, progress.Watermark.Pos, progress.Watermark.RowID, progress.Watermark.Day, progress.FirstDay, progress.OldestDay, rolling}
	for i, value := range values {
		fields = append(fields, progressFields[i], value)
	}
	return fields, nil
}

// progress parses the values of progressFields.
func (r *reply) progress() leaderboard.Progress {
	progress := leaderboard.Progress{Watermark: r.mark(), FirstDay: r.text(), OldestDay: r.text()}
	rolling, err := unpackRolling(r.text())
	if err != nil {
		r.setError(err.Error())
	}
	progress.Rolling = rolling
	return progress
}

func (r *reply) mark() leaderboard.Watermark {
	return leaderboard.Watermark{Epoch: r.text(), Pos: r.number(), RowID: r.text(), Day: r.text()}
}

// packRolling formats rolling windows as JSON. Equal values have equal texts. Without
// rolling windows the text is empty.
func packRolling(rolling map[leaderboard.Window]leaderboard.RollingBoards) (string, error) {
	if len(rolling) == 0 {
		return "", nil
	}
	packed, err := json.Marshal(rolling)
	return string(packed), err
}

func unpackRolling(packed string) (map[leaderboard.Window]leaderboard.RollingBoards, error) {
	if packed == "" {
		return nil, nil
	}
	var rolling map[leaderboard.Window]leaderboard.RollingBoards
	if err := json.Unmarshal([]byte(packed), &rolling); err != nil {
		return nil, fmt.Errorf("rolling windows of leaderboards: %w", err)
	}
	return rolling, nil
}
