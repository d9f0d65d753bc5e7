package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"laststand/internal/identity"
)

func newNames(db *database) *Names { return &Names{db, namePageSize, currentRules()} }

// MaxNames limits the ids of one call of Nicknames, TeamNames or GameTasks.
const MaxNames = 200

// existsRulesUpTo is the start of an SQL condition. The condition is true if the ledger's
// skeletons are computed by rules of a version up to the claim's. The claim's version,
// {share} and a closing bracket must follow. The lock of {share} keeps the condition true
// until the claim is committed.
const existsRulesUpTo = `EXISTS (SELECT 1 FROM nickname_rules WHERE id = 1 AND version <= `

const renamePlayer = `
UPDATE players SET nickname = $3, skeleton = $4, named_at = {now} WHERE game = $1 AND id = $2
AND ` + existsRulesUpTo + `$5 {share})`

// Rename claims a nickname by its skeleton and frees the old one, in one step. The error
// is identity.ErrNicknameTaken if another player has the skeleton, identity.ErrNotFound
// if there is no such player, or identity.ErrOldRules.
func (s *Names) Rename(ctx context.Context, game, id, nickname, skeleton string) error {
	changed, err := s.exec(ctx, renamePlayer, game, id, nickname, skeleton, s.rules.version)
	switch {
	case isUniqueViolation(err):
		return identity.ErrNicknameTaken
	case err != nil:
		return fmt.Errorf("ledger: rename: %w", err)
	case changed == 0:
		return s.claimError(ctx, identity.ErrNotFound)
	}
	return nil
}

const selectRules = `SELECT version FROM nickname_rules WHERE id = 1`

// claimError returns the error of a claim that has changed no row. It is
// identity.ErrOldRules if the ledger has newer rules, else fallback.
func (s *Names) claimError(ctx context.Context, fallback error) error {
	var rules int64
	err := s.readPool.QueryRowContext(ctx, selectRules).Scan(&rules)
	switch {
	case err != nil:
		return fmt.Errorf("ledger: read the version of the nickname rules: %w", err)
	case rules > s.rules.version:
		return identity.ErrOldRules
	}
	return fallback
}

const nicknameTaken = `SELECT EXISTS (SELECT 1 FROM players WHERE game = $1 AND skeleton = $2)`

// NicknameTaken reports whether a player of the game holds the skeleton.
func (s *Names) NicknameTaken(ctx context.Context, game, skeleton string) (bool, error) {
	var taken bool
	if err := s.readPool.QueryRowContext(ctx, nicknameTaken, game, skeleton).Scan(&taken); err != nil {
		return false, fmt.Errorf("ledger: is the nickname taken: %w", err)
	}
	return taken, nil
}

const selectNicknames = `SELECT n.id, n.nickname FROM {ids} players n WHERE n.game = $1 AND n.id {listed}`

// Nicknames returns the nicknames of up to MaxNames players by id, in one query. Unknown
// ids are missing.
func (s *Names) Nicknames(ctx context.Context, game string, ids []string) (map[string]string, error) {
	return s.namesByID(ctx, selectNicknames, game, ids)
}

// namesByID runs a query that returns ids with their names.
func (s *Names) namesByID(ctx context.Context, query, game string, ids []string) (map[string]string, error) {
	if len(ids) > MaxNames {
		return nil, fmt.Errorf("ledger: %d names in one call: ask for at most %d", len(ids), MaxNames)
	}
	names := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	err := scanAll(func(rows *sql.Rows) error {
		var id, name string
		err := rows.Scan(&id, &name)
		names[id] = name
		return err
	})(s.readPool.QueryContext(ctx, s.expandSQL(query), game, s.idList(ids)))
	if err != nil {
		return nil, fmt.Errorf("ledger: names: %w", err)
	}
	return names, nil
}
