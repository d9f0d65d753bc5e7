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

// newDevice is the only time that a device's secret is shown.
type newDevice struct {
	PlayerID string `json:"player_id"`
	Device   string `json:"device"`
}

// resetDevice detaches a guest's device and gives it a new one.
func (a *api) resetDevice(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	player, device, err := a.Bars.ResetDevice(ctx, r.game, r.PathValue("player"))
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "device reset", "game", r.game, "player", player, "by", r.by)
	return answer(w, http.StatusCreated, newDevice{player, device})
}

type untied struct {
	Account string `json:"account"`
}

// untiePlayer has the account of a guest speak for it no longer.
func (a *api) untiePlayer(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	account, err := a.Bars.Untie(ctx, r.game, r.PathValue("player"))
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "account untied", "game", r.game, "account", account, "by", r.by)
	return answer(w, http.StatusOK, untied{account})
}
