package checker

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"laststand/internal/protocol"
)

// reader reads a path below the game's URL.
type reader func(ctx context.Context, path string, v any) error

// compareMatch compares a stored match with the played one. It may have strangers: players
// who are no clients of this run.
func (get reader) compareMatch(ctx context.Context, m *match, hasStrangers bool) (difference string, err error) {
	var all []protocol.OverStanding
	err = get.pages("matches/"+m.id, func(path string) (string, error) {
		var page struct {
			Standings []protocol.OverStanding `json:"standings"`
			Next      string                  `json:"next_cursor"`
		}
		err := get(ctx, path, &page)
		all = append(all, page.Standings...)
		return page.Next, err
	})
	if err != nil {
		return "", err
	}
	return m.compareStored(all, hasStrangers), nil
}

// compareStored describes how stored standings differ from the played ones.
func (m *match) compareStored(all []protocol.OverStanding, hasStrangers bool) string {
	if len(all) != len(m.final) && !hasStrangers {
		return fmt.Sprintf("%s is stored with %d players, and had %d", m.id, len(all), len(m.final))
	}
	for _, s := range all {
		t := m.final[s.Player]
		if t == nil && !hasStrangers || t != nil && !t.isUnsure && s != t.standing(s) {
			return fmt.Sprintf("%s is stored with %+v, and it was %+v", m.id, s, t)
		}
	}
	return ""
}

// compareHistory compares a player's stored matches with the played ones. Each match that
// counts must appear exactly once, and no match twice.
func (get reader) compareHistory(ctx context.Context, player string, r *record) (difference string, err error) {
	times := make(map[string]int)
	err = get.pages("players/"+player+"/matches", func(path string) (string, error) {
		var page struct {
			Matches []struct {
				Match   string `json:"match"`
				Rank    int    `json:"rank"`
				Score   int64  `json:"score"`
				Correct int    `json:"correct"`
			} `json:"matches"`
			Next string `json:"next_cursor"`
		}
		err := get(ctx, path, &page)
		for _, m := range page.Matches {
			times[m.Match]++
			t := r.matches[m.Match]
			if t == nil || times[m.Match] > 1 || !t.isUnsure && (m.Rank != t.rank || m.Score != t.Score || m.Correct != t.Correct) {
				difference = fmt.Sprintf("the history of %s has %+v for the %d. time, and it was %+v", player, m, times[m.Match], t)
			}
		}
		return page.Next, err
	})
	for match := range r.counted {
		if times[match] == 0 && !r.matches[match].isUnsure {
			difference = fmt.Sprintf("the history of %s lacks %s", player, match)
		}
	}
	return difference, err
}

// compareProfile compares a player's profile with the sums of the matches that count.
func (get reader) compareProfile(ctx context.Context, player string, r *record) (difference string, err error) {
	var got Sums
	if err := get(ctx, "players/"+player, &got); err != nil {
		return "", err
	}
	if r.isSure && got != r.Sums {
		return fmt.Sprintf("the profile of %s has %+v, and the matches add up to %+v", player, got, r.Sums), nil
	}
	return "", nil
}

type entry struct {
	ID string `json:"id"`
	Sums
}

// compareBoard compares the leaderboard of all days with the sums of some players.
func (get reader) compareBoard(ctx context.Context, players []string, records map[string]*record) (difference string, err error) {
	var page struct {
		Entries []entry `json:"entries"`
	}
	err = get(ctx, "leaderboards/all?limit=200&players="+url.QueryEscape(strings.Join(players, ",")), &page)
	if err != nil {
		return "", err
	}
	return compareEntries(players, records, page.Entries), nil
}

// compareEntries describes how the entries of some players differ from their sums. A
// player without a match that counts must have no entry.
func compareEntries(players []string, records map[string]*record, entries []entry) string {
	listed := make(map[string]bool)
	for _, e := range entries {
		r := records[e.ID]
		switch {
		case listed[e.ID]:
			return fmt.Sprintf("the leaderboard has %s twice", e.ID)
		case r == nil || r.isSure && r.Sums != e.Sums:
			return fmt.Sprintf("the leaderboard has %+v, and the matches add up to %+v", e, r)
		}
		listed[e.ID] = true
	}
	for _, id := range players {
		if r := records[id]; r.isSure && r.Matches > 0 && !listed[id] {
			return fmt.Sprintf("the leaderboard lacks %s, who has %+v", id, r.Sums)
		}
	}
	return ""
}

// Behaviours are a server's counts of behaviours.
type Behaviours struct {
	Offered, Sent, Dropped, Queued, InFlight int64
}

// CheckBehaviours compares the counts with the posted behaviours that the server
// answered for, accepted or dropped at intake. It returns the difference, or "".
func CheckBehaviours(posted int64, b Behaviours) string {
	switch {
	case b.Offered != b.Sent+b.Dropped+b.Queued+b.InFlight:
		return fmt.Sprintf("behaviours do not add up: %+v", b)
	case b.Offered != posted:
		return fmt.Sprintf("%d behaviours were answered for, and %d count as offered", posted, b.Offered)
	}
	return ""
}

// CheckRanks checks that the ranks of a leaderboard page never fall. It returns the
// difference, or "".
func CheckRanks(ranks []int) string {
	for i := 1; i < len(ranks); i++ {
		if ranks[i] < ranks[i-1] {
			return fmt.Sprintf("rank %d comes after rank %d", ranks[i], ranks[i-1])
		}
	}
	return ""
}

// record is what the server must have stored of a player.
type record struct {
	Sums                       // of the matches that count
	matches map[string]*totals // by match
	counted map[string]bool    // matches that count
	isSure  bool               // no verdict is unknown
}

// pages reads a list to its end; read reads one page and returns its next cursor.
func (get reader) pages(path string, read func(path string) (next string, err error)) error {
	for cursor := ""; ; {
		next, err := read(path + "?limit=200" + cursor)
		if err != nil || next == "" {
			return err
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
}
