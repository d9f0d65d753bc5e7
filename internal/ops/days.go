package ops

import (
	"context"
	"net/http"
	"time"

	"laststand/internal/protocol"
)

// Days are the days of games, as the ledger turns them.
type Days interface {
	// ConfirmDay lets the days of a game turn up to one although other clocks
	// than the database's disagree.
	ConfirmDay(ctx context.Context, game, day string) error
}

func (a *api) confirmDay(w http.ResponseWriter, r *request) error {
	day := r.PathValue("day")
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return refuse(protocol.CodeBadRequest, "day %q is no date; write YYYY-MM-DD", day)
	}
	ctx, cancel := r.within()
	defer cancel()
	if err := a.Days.ConfirmDay(ctx, r.game, day); err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "day confirmed", "game", r.game, "day", day, "by", r.by)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
