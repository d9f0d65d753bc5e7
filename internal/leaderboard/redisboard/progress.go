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
// ready, stamp and config. touchedAt is in epoch ms.
func stateFields(p leaderboard.Progress, loading bool, touchedAt int64) ([]any, error) {
	rolling, err := packRolling(p.Rolling)
	if err != nil {
		return nil, err
	}
	fields := []any{"touched", touchedAt, "loading", loading}
	values := []any{p.Mark.Epoch, p.Mark.Pos, p.Mark.RowID, p.Mark.Day, p.First, p.Oldest, rolling}
	for i, v := range values {
		fields = append(fields, progressFields[i], v)
	}
	return fields, nil
}

// progress parses the values of progressFields.
func (r *reply) progress() leaderboard.Progress {
	p := leaderboard.Progress{Mark: r.mark(), First: r.text(), Oldest: r.text()}
	rolling, err := unpackRolling(r.text())
	if err != nil {
		r.fail(err.Error())
	}
	p.Rolling = rolling
	return p
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
