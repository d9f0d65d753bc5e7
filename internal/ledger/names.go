package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"laststand/internal/identity"
	"laststand/internal/leaderboard"
)

// Names claims and reads nicknames, and reads the names of teams.
type Names struct {
	*database
	pageSize int // names per statement of NamesBetween and EachSkeleton
}

// MaxNames limits the ids of one call of Nicknames or TeamNames.
const MaxNames = 200

// Rename implements identity.Names.
func (s *Names) Rename(ctx context.Context, game, id, nickname, skeleton string) error {
	changed, err := s.exec(ctx, `UPDATE players SET nickname = $3, skeleton = $4, named_at = {now} WHERE game = $1 AND id = $2`,
		game, id, nickname, skeleton)
	switch {
	case isUniqueViolation(err):
		return identity.ErrNicknameTaken
	case err == nil && changed == 0:
		return identity.ErrNotFound
	}
	return err
}

// NicknameTaken implements identity.Names.
func (s *Names) NicknameTaken(ctx context.Context, game, skeleton string) (bool, error) {
	return getValue[bool](ctx, s.database, `SELECT EXISTS (SELECT 1 FROM players WHERE game = $1 AND skeleton = $2)`, game, skeleton)
}

// Nicknames returns the nicknames of up to MaxNames players by id, in one query. Unknown
// ids are missing.
func (s *Names) Nicknames(ctx context.Context, game string, ids []string) (map[string]string, error) {
	return s.namesByID(ctx, `SELECT n.id, n.nickname FROM {ids} players n WHERE n.game = $1 AND n.id {listed}`, game, ids)
}

// namesByID runs a query that returns ids with their names.
func (s *Names) namesByID(ctx context.Context, query, game string, ids []string) (map[string]string, error) {
	if len(ids) > MaxNames {
		return nil, fmt.Errorf("ledger: %d ids in one call: ask for at most %d", len(ids), MaxNames)
	}
	names := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	var id, name string
	return names, s.each(ctx, eachRow(func() { names[id] = name }, &id, &name), query, game, s.idList(ids))
}

var _ identity.NameSource = (*Names)(nil)

// namePageSize is how many names one statement reads. Short statements do not delay VACUUM,
// which removes old row versions.
const namePageSize = 10_000

// NamesBetween calls onName for the skeleton of every nickname that was claimed between
// two times, both included, in order of time. Times are epoch ms by the database's clock.
//
// Claims may be committed in another order. So a later call must repeat the last minute.
func (s *Names) NamesBetween(ctx context.Context, from, to int64, onName func(game, skeleton string, at int64)) error {
	at, game, skeleton := from, "", "" // before all names of that time, because no game has an empty name
	return s.eachPage(func(count func()) error {
		return s.each(ctx, eachRow(func() {
			count()
			onName(game, skeleton, at)
		}, &at, &game, &skeleton), `
SELECT named_at, game, skeleton FROM players WHERE (named_at, game, skeleton) > ($1, $2, $3) AND named_at <= $4
ORDER BY named_at, game, skeleton LIMIT $5`, at, game, skeleton, to, s.pageSize)
	})
}

// eachPage reads pages of names until one is not full. read calls count for each name.
func (s *Names) eachPage(read func(count func()) error) error {
	for {
		n := 0
		if err := read(func() { n++ }); err != nil || n < s.pageSize {
			return err
		}
	}
}

// EachSkeleton calls onSkeleton for the skeleton of every nickname of a game, in order. A
// nickname that changes during the call may be missing, or appear with the old and the
// new skeleton.
func (s *Names) EachSkeleton(ctx context.Context, game string, onSkeleton func(skeleton string)) error {
	last := ""
	return s.eachPage(func(count func()) error {
		return s.each(ctx, eachRow(func() {
			count()
			onSkeleton(last)
		}, &last), `
SELECT skeleton FROM players WHERE game = $1 AND skeleton > $2 ORDER BY skeleton LIMIT $3`, game, last, s.pageSize)
	})
}

// CountNames returns the number of nicknames of a game, which is its number of players.
// It reads a whole index, so it is slow for many players.
func (s *Names) CountNames(ctx context.Context, game string) (int64, error) {
	return getValue[int64](ctx, s.database, `SELECT COUNT(*) FROM players WHERE game = $1`, game)
}

var saveTeam = insertRows("teams", "game, id, name") +
	`ON CONFLICT (game, id) DO UPDATE SET name = excluded.name WHERE teams.name <> excluded.name`

// teamRows returns the rows of saveTeam: the teams with entries, with the names in their
// newest result.
func teamRows(game string, items []*resultItem) [][]any {
	names := map[string]string{}
	for _, item := range items {
		counts := map[string]bool{}
		for _, e := range item.entries {
			counts[e.Holder] = counts[e.Holder] || e.HolderKind == leaderboard.Teams
		}
		for _, t := range item.result.Teams {
			if counts[t.ID] && t.Name != "" {
				names[t.ID] = t.Name
			}
		}
	}
	var rows [][]any
	for _, id := range slices.Sorted(maps.Keys(names)) {
		rows = append(rows, []any{game, id, names[id]})
	}
	return rows
}

// TeamNames returns the names of up to MaxNames teams by id, in one query. A team has the
// name of its last match that counted. Unknown ids are missing.
func (s *Names) TeamNames(ctx context.Context, game string, ids []string) (map[string]string, error) {
	return s.namesByID(ctx, `SELECT n.id, n.name FROM {ids} teams n WHERE n.game = $1 AND n.id {listed}`, game, ids)
}
