package ops

import (
	"context"
	"net/http"

	"laststand/internal/identity"
)

// Players changes accounts of players on behalf of an operator.
type Players interface {
	// Erase deletes a player for good: identity.ErrNotFound.
	Erase(ctx context.Context, game, player string) error
	// ResetDevice gives a guest a new device secret. The id is the guest's or its
	// account's: identity.ErrNotFound, ErrNotGuest.
	ResetDevice(ctx context.Context, game, id string) (player, device string, err error)
	// Untie removes the link between a guest and its account. The id is that of
	// either: identity.ErrNoAccount.
	UnlinkAccount(ctx context.Context, game, id string) (account string, err error)
	// PlayerNamed finds the holder of a nickname, or of one that looks the same:
	// identity.ErrNotFound, nickname.ErrInvalid.
	PlayerNamed(ctx context.Context, game, name string) (identity.Player, error)
}

// shownPlayer is a player as the admin API shows one.
type shownPlayer struct {
	PlayerID string `json:"player_id"`
	Nickname string `json:"nickname"`
}

// findPlayer finds the holder of a nickname. The answer has the nickname as it is
// stored, because it may differ from the one in the query.
func (a *api) findPlayer(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	p, err := a.Players.PlayerNamed(ctx, r.game, r.query.Get("nickname"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, shownPlayer{p.ID, p.Nickname})
}

func (a *api) deletePlayer(w http.ResponseWriter, r *request) error {
	player := r.PathValue("player")
	ctx, cancel := r.within()
	defer cancel()
	if err := a.Players.Erase(ctx, r.game, player); err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "player erased", "game", r.game, "player", player, "actor", r.actor)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// newDevice is the only answer that shows the secret of a device.
type newDevice struct {
	PlayerID string `json:"player_id"`
	Device   string `json:"device"`
}

// resetDevice replaces the device secret of a guest.
func (a *api) resetDevice(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	player, device, err := a.Players.ResetDevice(ctx, r.game, r.PathValue("player"))
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "device reset", "game", r.game, "player", player, "actor", r.actor)
	return answer(w, http.StatusCreated, newDevice{player, device})
}

type unlinkedAccount struct {
	Account string `json:"account"`
}

// unlinkAccount removes the link between a guest and its account.
func (a *api) unlinkAccount(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	account, err := a.Players.UnlinkAccount(ctx, r.game, r.PathValue("player"))
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "account unlinked", "game", r.game, "account", account, "actor", r.actor)
	return answer(w, http.StatusOK, unlinkedAccount{account})
}
