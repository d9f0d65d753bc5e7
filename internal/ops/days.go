package ops

import (
	"context"
	"net/http"
	"time"

	"laststand/internal/protocol"
)

// Days confirms days; *ledger.Days implements it.
type Days interface {
	// ConfirmDay allows the days of a game to start, up to and including this one, even
	// if the database's clock differs from the other clocks.
	ConfirmDay(ctx context.Context, game, day string) error
}

func (a *api) confirmDay(w http.ResponseWriter, r *request) error {
	day := r.PathValue("day")
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return newAPIError(protocol.CodeBadRequest, "day %q is not a date; use YYYY-MM-DD", day)
	}
	ctx, cancel := r.callContext()
	defer cancel()
	if err := a.Days.ConfirmDay(ctx, r.game, day); err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "day confirmed", "game", r.game, "day", day, "actor", r.actor)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
