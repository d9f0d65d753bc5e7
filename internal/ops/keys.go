package ops

import (
	"context"
	"net/http"

	"laststand/internal/identity"
)

// Keys lists and changes the keys that sign tokens; game "" means the server's own keys.
// No result contains the secret of a key. The methods can return
// identity.ErrConfiguredKeys, ErrTooManyKeys, ErrNoKey and ErrKeyInUse.
type Keys interface {
	ListKeys(game string) []identity.KeyInfo
	RotateKey(ctx context.Context, game string) (identity.KeyInfo, error)
	RetireKey(ctx context.Context, game, id string) error
}

type keyList struct {
	Keys []identity.KeyInfo `json:"keys"`
}

func (a *api) getKeys(w http.ResponseWriter, r *request) error {
	return writeJSON(w, http.StatusOK, keyList{a.Keys.ListKeys(r.game)})
}

func (a *api) rotateKey(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.callContext()
	defer cancel()
	created, err := a.Keys.RotateKey(ctx, r.game)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "signing key created", "game", r.game, "key", created.ID, "actor", r.actor)
	return writeJSON(w, http.StatusCreated, created)
}

func (a *api) retireKey(w http.ResponseWriter, r *request) error {
	id := r.PathValue("key")
	ctx, cancel := r.callContext()
	defer cancel()
	if err := a.Keys.RetireKey(ctx, r.game, id); err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "signing key retired", "game", r.game, "key", id, "actor", r.actor)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
