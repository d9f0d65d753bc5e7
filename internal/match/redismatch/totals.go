package redismatch

import (
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/match"
)

// leftField is there once a player has left a match that is played.
func leftField(player string) string { return "left|" + player }

func leftFields(players []string) []string {
	fields := make([]string, len(players))
	for i, player := range players {
		fields[i] = leftField(player)
	}
	return fields
}

// sumsOf is how a player's sums are kept, in the field of the player: one field
// is read and written in a third of the time of six.
func sumsOf(t match.Totals) string {
	return fmt.Sprintf("%d %d %d %d %d %d", t.Score, t.Correct, t.Answered, t.SavedMS, t.LastCorrect, t.LastAnswered)
}

// totalsOf reads a player's sums, and what says that the player has left.
func totalsOf(sums, left string) match.Totals {
	var n [6]int64
	for i := range n {
		var number string
		number, sums, _ = strings.Cut(sums, " ")
		n[i], _ = strconv.ParseInt(number, 10, 64) // written as a whole number, or not there
	}
	return match.Totals{
		Score: n[0], Correct: n[1], Answered: n[2], SavedMS: n[3], LastCorrect: int(n[4]), LastAnswered: int(n[5]), Left: left == "1",
	}
}
