package ops

import (
	"context"
	"net/http"

	"laststand/internal/httpserver"
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

// NewDevice is the only response that contains the secret of a device.
type NewDevice struct {
	PlayerID string `json:"player_id"`
	Device   string `json:"device"`
}

// UnlinkedAccount is the response with the account that was linked to a guest.
type UnlinkedAccount struct {
	Account string `json:"account"`
}

// Keys lists and changes the keys that sign tokens; game "" means the server's own keys.
// No result contains the secret of a key. The methods can return
// identity.ErrConfiguredKeys, ErrTooManyKeys, ErrNoKey and ErrKeyInUse.
type Keys interface {
	ListKeys(game string) []identity.KeyInfo
	RotateKey(ctx context.Context, game string) (identity.KeyInfo, error)
	RetireKey(ctx context.Context, game, id string) error
}

func (h accessRoutes) routes() []Operation {
	return []Operation{
		{"GET", gamePath + "/players", h.findPlayer, []string{"nickname"}, true, "Find the player of a nickname, or of one that looks like it."},
		{"DELETE", gamePath + "/players/{player}", h.erasePlayer, nil, false, "Erase a player."},
		{"POST", gamePath + "/players/{player}/device", h.resetDevice, nil, false, "Give a guest a new device secret: 201. The answer is the only place that shows it."},
		{"DELETE", gamePath + "/players/{player}/account", h.unlinkAccount, nil, false, "Unlink a guest from its account."},
		{"GET", gamePath + "/keys", h.listKeys, nil, false, "List the signing keys of a game, without secrets."},
		{"POST", gamePath + "/keys/rotate", h.rotateKey, nil, false, "Create a key that signs after 10 s."},
		{"DELETE", gamePath + "/keys/{key}", h.retireKey, nil, false, "Retire a key."},
		{"GET", "/admin/v1/keys", h.listKeys, nil, false, "List the server's own signing keys, without secrets."},
		{"POST", "/admin/v1/keys/rotate", h.rotateKey, nil, false, "Create a key of the server's own that signs after 10 s."},
		{"DELETE", "/admin/v1/keys/{key}", h.retireKey, nil, false, "Retire a key of the server's own."},
	}
}

// findPlayer finds the player with a nickname. The response has the stored nickname,
// which may differ from the one in the query.
func (h accessRoutes) findPlayer(r *request) (any, error) {
	player, err := h.Players.PlayerNamed(r.ctx, r.game, r.query.Get("nickname"))
	return Player{player.ID, player.Nickname}, err
}

func (h accessRoutes) erasePlayer(r *request) (any, error) {
	return nil, h.Players.Erase(r.ctx, r.game, r.PathValue("player"))
}

func (h accessRoutes) resetDevice(r *request) (any, error) {
	player, device, err := h.Players.ResetDevice(r.ctx, r.game, r.PathValue("player"))
	return httpserver.Response{Status: http.StatusCreated, Body: NewDevice{player, device}}, err
}

func (h accessRoutes) unlinkAccount(r *request) (any, error) {
	account, err := h.Players.UnlinkAccount(r.ctx, r.game, r.PathValue("player"))
	return UnlinkedAccount{account}, err
}

func (h accessRoutes) listKeys(r *request) (any, error) {
	return page[identity.KeyInfo]{key: "keys", items: h.Keys.ListKeys(r.game)}, nil
}

func (h accessRoutes) rotateKey(r *request) (any, error) {
	created, err := h.Keys.RotateKey(r.ctx, r.game)
	return httpserver.Response{Status: http.StatusCreated, Body: created}, err
}

func (h accessRoutes) retireKey(r *request) (any, error) {
	return nil, h.Keys.RetireKey(r.ctx, r.game, r.PathValue("key"))
}
