package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
)

// Stored compares the data that a server has stored with the judged matches.
type Stored struct {
	*Checker
	Get   func(ctx context.Context, player, path string, v any) error // reads a path below the game's URL, with the player's token; no player: without a token
	Share int                                                         // one match and one player in so many is read by itself; leaderboards are read for all players

	players map[string]*record
}

// record is what the server must have stored of a player.
type record struct {
	Sums                       // of the matches that count
	matches map[string]*totals // by match
	counted map[string]bool    // matches that count
	isSure  bool               // no verdict is unknown
}

// settleTimeout bounds how long the stored data may take to agree, after the last match.
const settleTimeout = time.Minute

// CheckStored waits until the stored data agrees with the judged matches. What still
// differs after a minute is a violation. It fails by testenv.Must if ctx ends.
func (s *Stored) CheckStored(ctx context.Context) {
	s.players = make(map[string]*record)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	until := time.Now().Add(settleTimeout)
	check := func(compare func()) {
		group.Go(func() error { return s.agree(ctx, until, compare) })
	}
	for i, m := range s.sorted() {
		s.collect(m)
		if len(m.final) > 0 && i%s.Share == 0 {
			check(func() { s.compareMatch(ctx, m) })
		}
	}
	ids := slices.Sorted(maps.Keys(s.players))
	for i, id := range ids {
		r := s.players[id]
		if r.isSure {
			s.summary.Compared++ // all matches are judged, so nobody else changes it
		}
		if i%s.Share != 0 {
			continue
		}
		check(func() { s.compareHistory(ctx, id, r) })
		check(func() { s.compareProfile(ctx, id, r) })
		for match, t := range r.matches {
			if s.KeepAnswers && !t.isUnsure {
				check(func() { s.compareAnswers(ctx, match, t) })
			}
		}
	}
	for some := range slices.Chunk(ids, 100) {
		check(func() { s.compareBoard(ctx, some) })
	}
	testenv.MustDo(group.Wait())
}

func (s *Stored) collect(m *match) {
	for player, t := range m.final {
		r := s.players[player]
		if r == nil {
			r = &record{matches: make(map[string]*totals), counted: make(map[string]bool), isSure: true}
			s.players[player] = r
		}
		r.matches[m.id] = t
		r.isSure = r.isSure && !t.isUnsure
		if m.counts {
			r.counted[m.id] = true
			r.add(t.Sums)
		}
	}
}

// Agree calls compare, which fails by testenv.Must, until it finds no difference. What still differs
// after a minute is a violation. An error says that ctx has ended.
func (c *Checker) Agree(ctx context.Context, compare func()) error {
	return c.agree(ctx, time.Now().Add(settleTimeout), compare)
}

// agree calls compare until it finds no difference. After the given time it reports the
// remaining difference. A failed read counts as a difference.
func (c *Checker) agree(ctx context.Context, until time.Time, compare func()) error {
	settling, cancel := context.WithDeadlineCause(ctx, until, fmt.Errorf("after %v", settleTimeout))
	defer cancel()
	err := testenv.Poll(settling, 500*time.Millisecond, func() (difference error) {
		defer testenv.Recover(&difference)
		compare()
		return nil
	})
	if err != nil && ctx.Err() == nil {
		c.Violations.Add("%v", err)
	}
	return ctx.Err()
}
