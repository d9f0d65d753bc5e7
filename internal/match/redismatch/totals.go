package redismatch

import "laststand/internal/match"

// totalsParts are the sums of a player, in the order of read.lua.
var totalsParts = []string{"score", "correct", "answered", "saved", "last", "latest", "left"}

// totalsFields names the sums of players, part by part.
func totalsFields(part string, players []string) []string {
	fields := make([]string, len(players))
	for i, player := range players {
		fields[i] = part + "|" + player
	}
	return fields
}

// totalsOf reads a player's sums out of lists of them, one for each part.
func totalsOf(parts [][]any, player int) match.Totals {
	n := func(part int) int64 { return number(parts[part], player) }
	return match.Totals{
		Score: n(0), Correct: n(1), Answered: n(2), SavedMS: n(3), Last: int(n(4)), Latest: int(n(5)), Left: n(6) == 1,
	}
}
