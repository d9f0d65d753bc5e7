package ops

import (
	"context"
	"net/http"

	"laststand/internal/identity"
)

// Keys are those that tokens are signed by; game "" has the server's own. What
// is told of one never has its secret. identity.ErrKeysOfFiles, ErrManyKeys,
// ErrNoKey, ErrKeyInUse.
type Keys interface {
	KeysOf(game string) []identity.KeyShown
	RotateKey(ctx context.Context, game string) (identity.KeyShown, error)
	RetireKey(ctx context.Context, game, id string) error
}

type keyList struct {
	Keys []identity.KeyShown `json:"keys"`
}

func (a *api) getKeys(w http.ResponseWriter, r *request) error {
	return answer(w, http.StatusOK, keyList{a.Keys.KeysOf(r.game)})
}

func (a *api) rotateKey(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	made, err := a.Keys.RotateKey(ctx, r.game)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "a key was made", "game", r.game, "key", made.ID, "by", r.by)
	return answer(w, http.StatusCreated, made)
}

func (a *api) retireKey(w http.ResponseWriter, r *request) error {
	id := r.PathValue("key")
	ctx, cancel := r.within()
	defer cancel()
	if err := a.Keys.RetireKey(ctx, r.game, id); err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "a key was retired", "game", r.game, "key", id, "by", r.by)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
