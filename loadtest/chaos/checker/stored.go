package checker

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// storedState is the server's stored data, read over HTTP.
type storedState struct {
	*checker
	wanted map[string]map[string]*totals // by player and match
}

// checkStored waits until the results of all matches are in the ledger and on the
// leaderboards. It compares them with the played matches: every match must appear once.
func (o *checker) checkStored(ctx context.Context) error {
	k := storedState{checker: o, wanted: make(map[string]map[string]*totals)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, r := range o.records.sorted() {
		for player, t := range r.final {
			if k.wanted[player] == nil {
				k.wanted[player] = make(map[string]*totals)
			}
			k.wanted[player][r.id] = t
		}
		if r.final != nil {
			group.Go(func() error { return k.match(ctx, r) })
		}
	}
	for player := range k.wanted {
		group.Go(func() error { return k.history(ctx, player) })
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(k.wanted)), 100) {
		group.Go(func() error { return k.board(ctx, some) })
	}
	return group.Wait()
}

// agree calls compare until it finds no difference. At the end it reports the remaining
// difference. A failed read counts as a difference.
func (k storedState) agree(ctx context.Context, compare func() (differs string, err error)) error {
	for until := time.Now().Add(settleWithin); ; {
		differs, err := compare()
		if err != nil {
			differs = err.Error()
		}
		if differs == "" {
			return nil
		}
		if time.Now().After(until) {
			k.violations.add("after %v: %s", settleWithin, differs)
			return nil
		}
		if err := pause(ctx, 5*look); err != nil {
			return err
		}
	}
}

// get reads from the nodes in turn.
func (k storedState) get(ctx context.Context, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return player.GetJSON(ctx, k.fleet.next()+"/v1/games/demo/"+path, v)
}

// pages reads a list to its end.
func (k storedState) pages(ctx context.Context, path string, page func(get func(v any) error) (next string, err error)) error {
	for cursor := ""; ; {
		next, err := page(func(v any) error { return k.get(ctx, path+"?limit=200"+cursor, v) })
		if err != nil || next == "" {
			return err
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
}

// match compares a stored match with the final push to its players.
func (k storedState) match(ctx context.Context, r *record) error {
	return k.agree(ctx, func() (string, error) {
		var all []protocol.OverStanding
		err := k.pages(ctx, "matches/"+r.id, func(get func(any) error) (string, error) {
			var page struct {
				Standings []protocol.OverStanding `json:"standings"`
				Next      string                  `json:"next_cursor"`
			}
			err := get(&page)
			all = append(all, page.Standings...)
			return page.Next, err
		})
		if err != nil {
			return "", err
		}
		return r.differs(all), nil
	})
}

// differs describes how the stored standings of a match differ from the played ones.
func (r *record) differs(all []protocol.OverStanding) string {
	if len(all) != len(r.final) {
		return fmt.Sprintf("%s is kept with %d players, and had %d", r.id, len(all), len(r.final))
	}
	for _, s := range all {
		t := r.final[s.Player]
		if t == nil || !t.unsure && s != t.standing(s) {
			return fmt.Sprintf("%s is kept with %+v, and it was %+v", r.id, s, t)
		}
	}
	return ""
}

// history compares a player's stored matches with the played ones: each must appear
// once.
func (k storedState) history(ctx context.Context, player string) error {
	return k.agree(ctx, func() (string, error) {
		times := make(map[string]int)
		wrong := ""
		err := k.pages(ctx, "players/"+player+"/matches", func(get func(any) error) (string, error) {
			var page struct {
				Matches []struct {
					Match   string `json:"match"`
					Rank    int    `json:"rank"`
					Score   int64  `json:"score"`
					Correct int    `json:"correct"`
				} `json:"matches"`
				Next string `json:"next_cursor"`
			}
			err := get(&page)
			for _, m := range page.Matches {
				times[m.Match]++
				t := k.wanted[player][m.Match]
				if t == nil || !t.unsure && (m.Rank != t.rank || m.Score != t.score || m.Correct != t.correct) {
					wrong = fmt.Sprintf("%s is in the history of %s as %+v, and was %+v", m.Match, player, m, t)
				}
			}
			return page.Next, err
		})
		for match := range k.wanted[player] {
			if times[match] != 1 {
				wrong = fmt.Sprintf("%s is %d times in the history of %s", match, times[match], player)
			}
		}
		return wrong, err
	})
}

// sums are a player's totals on a leaderboard.
type sums struct {
	ID       string `json:"id"`
	Score    int64  `json:"score"`
	TimeMS   int64  `json:"time_ms"`
	Matches  int    `json:"matches"`
	Asked    int    `json:"asked"`
	Answered int    `json:"answered"`
	Correct  int    `json:"correct"`
}

// board compares the leaderboard of all days with the sums of the played matches. All
// matches of the run count.
func (k storedState) board(ctx context.Context, players []string) error {
	return k.agree(ctx, func() (string, error) {
		var page struct {
			Entries []sums `json:"entries"`
		}
		err := k.get(ctx, "leaderboards/all?limit=200&players="+strings.Join(players, ","), &page)
		if err != nil {
			return "", err
		}
		if len(page.Entries) != len(players) {
			return fmt.Sprintf("the board has %d of %d players", len(page.Entries), len(players)), nil
		}
		for _, e := range page.Entries {
			if want, sure := k.sum(e.ID); sure && e != want {
				return fmt.Sprintf("the board has %+v, and it is %+v", e, want), nil
			}
		}
		return "", nil
	})
}

// sum adds up a player's totals of all matches. sure is false if one of them is unknown.
func (k storedState) sum(player string) (s sums, sure bool) {
	s.ID = player
	for _, t := range k.wanted[player] {
		if t.unsure {
			return s, false
		}
		s.Score += t.score
		s.TimeMS += limitMS*int64(t.asked) - t.saved
		s.Matches++
		s.Asked += t.asked
		s.Answered += t.answered
		s.Correct += t.correct
	}
	return s, true
}
