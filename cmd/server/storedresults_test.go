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
func checkStoredResults(t *testing.T, url string, games []*duelTranscript) {
	t.Helper()
	demo := url + "/v1/games/demo"
	board := make(map[string]leaderboard.Entry)
	next := ""
	for {
		var page leaderboard.Page
		query := demo + "/leaderboards/all?limit=30" + next
		waitUntil(t, "the board is ready", func() bool { return get(t, query, &page) == http.StatusOK })
		for _, e := range page.Entries {
			board[e.ID] = e
		}
		if page.NextCursor == "" {
			break
		}
		next = "&cursor=" + page.NextCursor
	}
	if len(board) != len(games) {
		t.Errorf("the leaderboard has %d entries, want %d", len(board), len(games))
	}
	for _, g := range games {
		g.checkPlayer(t, demo, board[g.guest.ID])
	}
}

func (g *duelTranscript) checkPlayer(t *testing.T, demo string, e leaderboard.Entry) {
	t.Helper()
	var player protocol.OverStanding
	for _, s := range g.over.Standings {
		if s.Player == g.guest.ID {
			player = s
		}
	}
	want := leaderboard.Entry{
		Rank: e.Rank, ID: g.guest.ID, Nickname: g.guest.Nickname, Value: player.Score, Score: player.Score, TimeMS: player.TimeMS, Matches: 1,
		Asked: questions, Answered: int64(player.Answered), Correct: int64(player.Correct), Accuracy: float64(player.Correct) / questions,
	}
	if e != want {
		t.Errorf("the leaderboard entry is %+v\nwant                     %+v", e, want)
	}
	var profile struct {
		Nickname                       string
		Rating                         int
		Score, Matches, Asked, Correct int64
		TimeMS                         int64 `json:"time_ms"`
	}
	get(t, demo+"/players/"+g.guest.ID, &profile)
	if profile.Score != player.Score || profile.TimeMS != player.TimeMS || profile.Matches != 1 || profile.Rating != *g.settled.Rating {
		t.Errorf("profile %+v, want the values of the match: %+v, and rating %d", profile, player, *g.settled.Rating)
	}
	var history struct {
		Matches []struct {
			Match string
			Rank  int
			Score int64
		}
	}
	get(t, demo+"/players/"+g.guest.ID+"/matches", &history)
	if len(history.Matches) != 1 || history.Matches[0].Match != g.match || history.Matches[0].Score != player.Score || history.Matches[0].Rank != player.Rank {
		t.Errorf("history %+v, want %s with %+v", history, g.match, player)
	}
	var match struct{ Standings []protocol.OverStanding }
	get(t, demo+"/matches/"+g.match, &match)
	i := slices.IndexFunc(match.Standings, func(s protocol.OverStanding) bool { return s.Player == g.guest.ID })
	if len(match.Standings) != 2 || i < 0 || match.Standings[i].Rank != player.Rank || *match.Standings[i].Rating != *g.settled.Rating {
		t.Errorf("match %s: %+v, want rank %d and rating %d", g.match, match.Standings, player.Rank, *g.settled.Rating)
	}
}
