package main

import (
	"net/http"
	"slices"
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
)

// checkStoredResults compares profiles, histories, matches and leaderboards with what the server sent
// to the players.
func checkStoredResults(t *testing.T, url string, players []*matchClient) {
	t.Helper()
	gameURL := url + "/v1/games/demo"
	board := make(map[string]leaderboard.Entry)
	cursor := ""
	for {
		var page leaderboard.Page
		query := gameURL + "/leaderboards/all?limit=30" + cursor
		waitUntil(t, "the board is ready", func() bool { return get(t, query, &page) == http.StatusOK })
		for _, e := range page.Entries {
			board[e.ID] = e
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	if len(board) != len(players) {
		t.Errorf("the leaderboard has %d entries, want %d", len(board), len(players))
	}
	for _, c := range players {
		c.checkPlayer(t, gameURL, board[c.id])
	}
}

func (c *matchClient) checkPlayer(t *testing.T, gameURL string, entry leaderboard.Entry) {
	t.Helper()
	var own protocol.OverStanding
	for _, s := range c.over.Standings {
		if s.Player == c.id {
			own = s
		}
	}
	want := leaderboard.Entry{
		Rank: entry.Rank, ID: c.id, Nickname: c.Nickname, Value: own.Score, Score: own.Score, TimeMS: own.TimeMS, Matches: 1,
		Asked: duelQuestions, Answered: int64(own.Answered), Correct: int64(own.Correct), Accuracy: float64(own.Correct) / duelQuestions,
	}
	if entry != want {
		t.Errorf("the leaderboard entry is %+v\nwant                     %+v", entry, want)
	}
	var profile struct {
		Nickname                       string
		Rating                         int
		Score, Matches, Asked, Correct int64
		TimeMS                         int64 `json:"time_ms"`
	}
	get(t, gameURL+"/players/"+c.id, &profile)
	if profile.Score != own.Score || profile.TimeMS != own.TimeMS || profile.Matches != 1 || profile.Rating != *c.settled.Rating {
		t.Errorf("profile %+v, want the values of the match: %+v, and rating %d", profile, own, *c.settled.Rating)
	}
	var history struct {
		Matches []struct {
			Match string
			Rank  int
			Score int64
		}
	}
	get(t, gameURL+"/players/"+c.id+"/matches", &history)
	if len(history.Matches) != 1 || history.Matches[0].Match != c.match || history.Matches[0].Score != own.Score || history.Matches[0].Rank != own.Rank {
		t.Errorf("history %+v, want %s with %+v", history, c.match, own)
	}
	var match struct{ Standings []protocol.OverStanding }
	get(t, gameURL+"/matches/"+c.match, &match)
	i := slices.IndexFunc(match.Standings, func(s protocol.OverStanding) bool { return s.Player == c.id })
	if len(match.Standings) != 2 || i < 0 || match.Standings[i].Rank != own.Rank || *match.Standings[i].Rating != *c.settled.Rating {
		t.Errorf("match %s: %+v, want rank %d and rating %d", c.match, match.Standings, own.Rank, *c.settled.Rating)
	}
}
