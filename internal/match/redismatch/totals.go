package redismatch

import (
	"strconv"
	"strings"

	"laststand/internal/match"
)

// leftField names the field that exists after a player has left a running
// match.
func leftField(player string) string { return "left|" + player }

func leftFields(players []string) []string {
	fields := make([]string, len(players))
	for i, player := range players {
		fields[i] = leftField(player)
	}
	return fields
}

// encodeTotals encodes a player's sums as one field. One field is read and written in
// a third of the time of several.
func encodeTotals(t match.Totals) string {
	text := make([]byte, 0, 64)
	for _, n := range [...]int64{t.Score, t.Correct, t.Answered, t.SavedMS, int64(t.LastCorrect), int64(t.LastAnswered), t.Streak} {
		text = append(strconv.AppendInt(text, n, 10), ' ')
	}
	return string(text[:len(text)-1])
}

// decodeTotals decodes a player's sums and the field of leftField.
func decodeTotals(sums, left string) match.Totals {
	var n [7]int64
	for i := range n {
		var number string
		number, sums, _ = strings.Cut(sums, " ")
		n[i], _ = strconv.ParseInt(number, 10, 64) // a whole number, or missing
	}
	return match.Totals{
		Score: n[0], Correct: n[1], Answered: n[2], SavedMS: n[3], LastCorrect: int(n[4]), LastAnswered: int(n[5]), Streak: n[6], HasLeft: left == "1",
	}
}
