package ledger

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/leaderboard"
)

const saveTeam = `
WITH v (game, id, name) AS ({rows})
INSERT INTO teams (game, id, name) SELECT game, id, name FROM v WHERE true
ON CONFLICT (game, id) DO UPDATE SET name = excluded.name WHERE teams.name <> excluded.name`

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

const selectTeamNames = `SELECT n.id, n.name FROM {ids} teams n WHERE n.game = $1 AND n.id {listed}`

// TeamNames returns the names of up to MaxNames teams by id, in one query. A team has the
// name of its last match that counted. Unknown ids are missing.
func (s *Names) TeamNames(ctx context.Context, game string, ids []string) (map[string]string, error) {
	return s.namesByID(ctx, selectTeamNames, game, ids)
}
