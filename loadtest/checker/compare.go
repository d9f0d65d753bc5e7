package checker

import (
	"context"
	"net/url"
	"strings"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// storedPage is a page of the standings of a match, or of the matches of a player.
type storedPage struct {
	Standings []protocol.OverStanding `json:"standings"`
	Matches   []struct {
		Match   string `json:"match"`
		Rank    int    `json:"rank"`
		Score   int64  `json:"score"`
		Correct int    `json:"correct"`
	} `json:"matches"`
	Next string `json:"next_cursor"`
}

// get reads a path below the game's URL with the token of a player. It fails by testenv.Must, and so
// does each comparison that finds a difference.
func get[T any](ctx context.Context, s *Stored, player, path string) (v T) {
	testenv.MustDo(s.Get(ctx, player, path, &v))
	return v
}

// readPages reads a list to its end.
func (s *Stored) readPages(ctx context.Context, path string) (all storedPage) {
	for cursor := ""; ; {
		page := get[storedPage](ctx, s, "", path+"?limit=200"+cursor)
		all.Standings, all.Matches = append(all.Standings, page.Standings...), append(all.Matches, page.Matches...)
		if page.Next == "" {
			return all
		}
		cursor = "&cursor=" + url.QueryEscape(page.Next)
	}
}

// compareMatch compares a stored match with the played one.
func (s *Stored) compareMatch(ctx context.Context, m *match) {
	stored := s.readPages(ctx, "matches/"+m.id).Standings
	testenv.FailIf(len(stored) != len(m.final) && !s.Strangers, "%s is stored with %d players, and had %d", m.id, len(stored), len(m.final))
	for _, standing := range stored {
		t := m.final[standing.Player]
		differs := t == nil && !s.Strangers || t != nil && !t.isUnsure && standing != t.standing(standing)
		testenv.FailIf(differs, "%s is stored with %+v, and it was %+v", m.id, standing, t)
	}
}

// compareHistory compares a player's stored matches with the played ones. Each match that
// counts must appear exactly once, and no match twice.
func (s *Stored) compareHistory(ctx context.Context, player string, r *record) {
	times := make(map[string]int)
	for _, m := range s.readPages(ctx, "players/"+player+"/matches").Matches {
		times[m.Match]++
		t := r.matches[m.Match]
		differs := t == nil || times[m.Match] > 1 || !t.isUnsure && (m.Rank != t.rank || m.Score != t.Score || m.Correct != t.Correct)
		testenv.FailIf(differs, "the history of %s has %+v for the %d. time, and it was %+v", player, m, times[m.Match], t)
	}
	for match := range r.counted {
		testenv.FailIf(times[match] == 0 && !r.matches[match].isUnsure, "the history of %s lacks %s", player, match)
	}
}

// compareProfile compares a player's profile with the sums of the matches that count.
func (s *Stored) compareProfile(ctx context.Context, player string, r *record) {
	got := get[Sums](ctx, s, "", "players/"+player)
	testenv.FailIf(r.isSure && got != r.Sums, "the profile of %s has %+v, and the matches add up to %+v", player, got, r.Sums)
}

type entry struct {
	ID string `json:"id"`
	Sums
}

// compareBoard compares the leaderboard of all days with the sums of some players. A player
// without a match that counts must have no entry.
func (s *Stored) compareBoard(ctx context.Context, players []string) {
	page := get[struct{ Entries []entry }](ctx, s, "", "leaderboards/all?limit=200&players="+url.QueryEscape(strings.Join(players, ",")))
	listed := make(map[string]bool)
	for _, e := range page.Entries {
		r := s.players[e.ID]
		testenv.FailIf(listed[e.ID], "the leaderboard has %s twice", e.ID)
		testenv.FailIf(r == nil || r.isSure && r.Sums != e.Sums, "the leaderboard has %+v, and the matches add up to %+v", e, r)
		listed[e.ID] = true
	}
	for _, id := range players {
		r := s.players[id]
		testenv.FailIf(r.isSure && r.Matches > 0 && !listed[id], "the leaderboard lacks %s, who has %+v", id, r.Sums)
	}
}

// compareAnswers compares the stored answers of a player in a match with those that the
// server had accepted. Questions that a player was not asked are stored without an answer.
func (s *Stored) compareAnswers(ctx context.Context, match string, t *totals) {
	stored := get[struct{ Questions []protocol.QuestionResult }](ctx, s, t.player, "matches/"+match+"/answers").Questions
	testenv.FailIf(len(stored) < len(t.answers),
		"the answers of %s to %d questions of %s are stored, and there were %d", t.player, len(stored), match, len(t.answers))
	for i, q := range stored {
		want, isAsked := t.answers[i]
		if !isAsked {
			want = newResult(protocol.QuestionResult{})
		}
		got := newResult(q)
		testenv.FailIf(got != want, "the answer of %s to question %d of %s is stored as %+v, and was %+v", t.player, i, match, got, want)
	}
}
