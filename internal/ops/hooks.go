package ops

import (
	"context"
	"net/http"

	"laststand/internal/hooks"
)

// Hooks looks after the endpoints of webhooks, as *hooks.Office does:
// hooks.ErrNoEndpoint where there is none of the name.
type Hooks interface {
	List(ctx context.Context) ([]hooks.Status, error)
	Ping(ctx context.Context, game, name string) (hooks.Pinged, error)
	Enable(ctx context.Context, game, name string) (hooks.Status, error)
	Disable(ctx context.Context, game, name, why string) (hooks.Status, error)
}

// endpoints is a list of them, whole: there are at most some of each game.
type endpoints struct {
	Webhooks []hooks.Status `json:"webhooks"`
}

// getHooks lists the endpoints of all games.
func (a *api) getHooks(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	all, err := a.Hooks.List(ctx)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, endpoints{all})
}

// pingHook sends a message of its own to an endpoint, and says how it answered.
func (a *api) pingHook(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	pinged, err := a.Hooks.Ping(ctx, r.game, r.PathValue("webhook"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, pinged)
}

func (a *api) enableHook(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	s, err := a.Hooks.Enable(ctx, r.game, r.PathValue("webhook"))
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "a webhook is enabled", "game", s.Game, "webhook", s.Name, "by", r.by)
	return answer(w, http.StatusOK, s)
}

func (a *api) disableHook(w http.ResponseWriter, r *request) error {
	why, err := readWhy(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := r.within()
	defer cancel()
	s, err := a.Hooks.Disable(ctx, r.game, r.PathValue("webhook"), why)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "a webhook is disabled", "game", s.Game, "webhook", s.Name, "why", why, "by", r.by)
	return answer(w, http.StatusOK, s)
}
