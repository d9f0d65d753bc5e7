package ops

import (
	"context"
	"net/http"

	"laststand/internal/identity"
)

// Players changes accounts of players on behalf of an operator.
type Players interface {
	// Erase deletes a player permanently. It can return identity.ErrNotFound.
	Erase(ctx context.Context, game, player string) error
	// ResetDevice gives a guest a new device secret, and returns the player id and the
	// secret. id names the guest or its account. It can return identity.ErrNotFound and
	// ErrNotGuest.
	ResetDevice(ctx context.Context, game, id string) (player, device string, err error)
	// UnlinkAccount removes the link between a guest and its account. id names the guest
	// or the account. It can return identity.ErrNoAccount.
	UnlinkAccount(ctx context.Context, game, id string) (account string, err error)
	// PlayerNamed returns the player with a nickname, or with one that looks the same. It
	// can return identity.ErrNotFound and nickname.ErrInvalid.
	PlayerNamed(ctx context.Context, game, name string) (identity.Player, error)
}

// Player is the response with one player.
type Player struct {
	PlayerID string `json:"player_id"`
	Nickname string `json:"nickname"`
}

// findPlayer finds the player with a nickname. The response has the stored nickname,
// which may differ from the one in the query.
func (a *api) findPlayer(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.callContext()
	defer cancel()
	player, err := a.Players.PlayerNamed(ctx, r.game, r.query.Get("nickname"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Player{player.ID, player.Nickname})
}

func (a *api) deletePlayer(w http.ResponseWriter, r *request) error {
	player := r.PathValue("player")
	ctx, cancel := r.callContext()
	defer cancel()
	if err := a.Players.Erase(ctx, r.game, player); err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "player erased", "game", r.game, "player", player, "actor", r.actor)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// NewDevice is the only response that contains the secret of a device.
type NewDevice struct {
	PlayerID string `json:"player_id"`
	Device   string `json:"device"`
}

// resetDevice replaces the device secret of a guest.
func (a *api) resetDevice(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.callContext()
	defer cancel()
	player, device, err := a.Players.ResetDevice(ctx, r.game, r.PathValue("player"))
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "device reset", "game", r.game, "player", player, "actor", r.actor)
	return writeJSON(w, http.StatusCreated, NewDevice{player, device})
}

type UnlinkedAccount struct {
	Account string `json:"account"`
}

// unlinkAccount removes the link between a guest and its account.
func (a *api) unlinkAccount(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.callContext()
	defer cancel()
	account, err := a.Players.UnlinkAccount(ctx, r.game, r.PathValue("player"))
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "account unlinked", "game", r.game, "account", account, "actor", r.actor)
	return writeJSON(w, http.StatusOK, UnlinkedAccount{account})
}
