package redisboard

import (
	"encoding/json"
	"fmt"

	"laststand/internal/leaderboard"
)

// progressFields hold a generation's Progress in its state, in the order in
// which scripts return them.
var progressFields = []string{"epoch", "pos", "row", "day", "first", "oldest", "rolls"}

// stateFields are the fields and values of a state by turns, but for ready,
// stamp and config.
func stateFields(p leaderboard.Progress, loading bool, at int64) ([]any, error) {
	rolls, err := packRolls(p.Rolls)
	if err != nil {
		return nil, err
	}
	fields := []any{"touched", at, "loading", loading}
	values := []any{p.Mark.Epoch, p.Mark.Pos, p.Mark.RowID, p.Mark.Day, p.First, p.Oldest, rolls}
	for i, v := range values {
		fields = append(fields, progressFields[i], v)
	}
	return fields, nil
}

// progress reads the values of progressFields.
func (r *reply) progress() leaderboard.Progress {
	p := leaderboard.Progress{Mark: r.mark(), First: r.text(), Oldest: r.text()}
	rolls, err := unpackRolls(r.text())
	if err != nil {
		r.fail(err.Error())
	}
	p.Rolls = rolls
	return p
}

func (r *reply) mark() leaderboard.Watermark {
	return leaderboard.Watermark{Epoch: r.text(), Pos: r.number(), RowID: r.text(), Day: r.text()}
}

// packRolls writes the same rolls as the same text, none as an empty one.
func packRolls(rolls map[leaderboard.Window]leaderboard.Roll) (string, error) {
	if len(rolls) == 0 {
		return "", nil
	}
	packed, err := json.Marshal(rolls)
	return string(packed), err
}

func unpackRolls(packed string) (map[leaderboard.Window]leaderboard.Roll, error) {
	if packed == "" {
		return nil, nil
	}
	var rolls map[leaderboard.Window]leaderboard.Roll
	if err := json.Unmarshal([]byte(packed), &rolls); err != nil {
		return nil, fmt.Errorf("rolling windows of leaderboards: %w", err)
	}
	return rolls, nil
}
