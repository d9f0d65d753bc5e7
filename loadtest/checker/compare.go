package checker

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"laststand/internal/protocol"
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

// readPages reads a list to its end.
func (s *Stored) readPages(ctx context.Context, path string) (all storedPage, err error) {
	for cursor := ""; ; {
		var page storedPage
		if err := s.Get(ctx, "", path+"?limit=200"+cursor, &page); err != nil {
			return all, err
		}
		all.Standings, all.Matches = append(all.Standings, page.Standings...), append(all.Matches, page.Matches...)
		if page.Next == "" {
			return all, nil
		}
		cursor = "&cursor=" + url.QueryEscape(page.Next)
	}
}

// compareMatch compares a stored match with the played one.
func (s *Stored) compareMatch(ctx context.Context, m *match) error {
	stored, err := s.readPages(ctx, "matches/"+m.id)
	if err != nil {
		return err
	}
	if len(stored.Standings) != len(m.final) && !s.Strangers {
		return fmt.Errorf("%s is stored with %d players, and had %d", m.id, len(stored.Standings), len(m.final))
	}
	for _, standing := range stored.Standings {
		t := m.final[standing.Player]
		if t == nil && !s.Strangers || t != nil && !t.isUnsure && standing != t.standing(standing) {
			return fmt.Errorf("%s is stored with %+v, and it was %+v", m.id, standing, t)
		}
	}
	return nil
}

// compareHistory compares a player's stored matches with the played ones. Each match that
// counts must appear exactly once, and no match twice.
func (s *Stored) compareHistory(ctx context.Context, player string, r *record) error {
	stored, err := s.readPages(ctx, "players/"+player+"/matches")
	if err != nil {
		return err
	}
	times := make(map[string]int)
	for _, m := range stored.Matches {
		times[m.Match]++
		t := r.matches[m.Match]
		if t == nil || times[m.Match] > 1 || !t.isUnsure && (m.Rank != t.rank || m.Score != t.Score || m.Correct != t.Correct) {
			return fmt.Errorf("the history of %s has %+v for the %d. time, and it was %+v", player, m, times[m.Match], t)
		}
	}
	for match := range r.counted {
		if times[match] == 0 && !r.matches[match].isUnsure {
			return fmt.Errorf("the history of %s lacks %s", player, match)
		}
	}
	return nil
}

// compareProfile compares a player's profile with the sums of the matches that count.
func (s *Stored) compareProfile(ctx context.Context, player string, r *record) error {
	var got Sums
	if err := s.Get(ctx, "", "players/"+player, &got); err != nil {
		return err
	}
	if r.isSure && got != r.Sums {
		return fmt.Errorf("the profile of %s has %+v, and the matches add up to %+v", player, got, r.Sums)
	}
	return nil
}

type entry struct {
	ID string `json:"id"`
	Sums
}

// compareBoard compares the leaderboard of all days with the sums of some players. A player
// without a match that counts must have no entry.
func (s *Stored) compareBoard(ctx context.Context, players []string) error {
	var page struct {
		Entries []entry `json:"entries"`
	}
	if err := s.Get(ctx, "", "leaderboards/all?limit=200&players="+url.QueryEscape(strings.Join(players, ",")), &page); err != nil {
		return err
	}
	listed := make(map[string]bool)
	for _, e := range page.Entries {
		r := s.players[e.ID]
		switch {
		case listed[e.ID]:
			return fmt.Errorf("the leaderboard has %s twice", e.ID)
		case r == nil || r.isSure && r.Sums != e.Sums:
			return fmt.Errorf("the leaderboard has %+v, and the matches add up to %+v", e, r)
		}
		listed[e.ID] = true
	}
	for _, id := range players {
		if r := s.players[id]; r.isSure && r.Matches > 0 && !listed[id] {
			return fmt.Errorf("the leaderboard lacks %s, who has %+v", id, r.Sums)
		}
	}
	return nil
}

// compareAnswers compares the stored answers of a player in a match with those that the
// server had accepted. Questions that a player was not asked are stored without an answer.
func (s *Stored) compareAnswers(ctx context.Context, match string, t *totals) error {
	var stored struct{ Questions []protocol.QuestionResult }
	if err := s.Get(ctx, t.player, "matches/"+match+"/answers", &stored); err != nil {
		return err
	}
	if len(stored.Questions) < len(t.answers) {
		return fmt.Errorf("the answers of %s to %d questions of %s are stored, and there were %d", t.player, len(stored.Questions), match, len(t.answers))
	}
	for i, q := range stored.Questions {
		want, isAsked := t.answers[i]
		if !isAsked {
			want = newResult(protocol.QuestionResult{})
		}
		if got := newResult(q); got != want {
			return fmt.Errorf("the answer of %s to question %d of %s is stored as %+v, and was %+v", t.player, i, match, got, want)
		}
	}
	return nil
}
