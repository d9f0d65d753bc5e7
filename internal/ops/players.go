package ops

import (
	"net/http"
)

// shownPlayer is a player as operators find one.
type shownPlayer struct {
	PlayerID string `json:"player_id"`
	Nickname string `json:"nickname"`
}

// findPlayer finds who holds a nickname, or one that cannot be told from it: as
// it is shown, so that whoever asks sees whom they have found.
func (a *api) findPlayer(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	p, err := a.Bars.PlayerNamed(ctx, r.game, r.query.Get("nickname"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, shownPlayer{p.ID, p.Nickname})
}

func (a *api) deletePlayer(w http.ResponseWriter, r *request) error {
	player := r.PathValue("player")
	ctx, cancel := r.within()
	defer cancel()
	if err := a.Bars.Erase(ctx, r.game, player); err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "a player was erased", "game", r.game, "player", player, "by", r.by)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
