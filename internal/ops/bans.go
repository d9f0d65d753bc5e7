package ops

import (
	"net/http"

	"laststand/internal/identity"
)

// Ban is a ban as the admin API shows it.
type Ban struct {
	Player    string `json:"player"`
	Reason    string `json:"reason"`
	CreatedBy string `json:"created_by,omitempty"`
	CreatedAt int64  `json:"created_at"`           // epoch ms, as all times
	ExpiresAt int64  `json:"expires_at,omitempty"` // absent: never
}

func newBan(stored identity.Revocation) Ban {
	return Ban{stored.ID, stored.Reason, stored.SetBy, stored.ChangedAt, stored.EndsAt}
}

// banPage is one page of bans; the last page has no cursor.
type banPage struct {
	Bans       []Ban  `json:"bans"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// banBody is the body of a request that bans a player.
type banBody struct {
	Reason    string `json:"reason" need:"true"`
	ExpiresAt int64  `json:"expires_at,omitempty"`
}

func (a *api) getBans(w http.ResponseWriter, r *request) error {
	bans, next, err := a.revocationPage(r, identity.KindBan)
	if err != nil {
		return err
	}
	page := banPage{Bans: []Ban{}, NextCursor: next}
	for _, stored := range bans {
		page.Bans = append(page.Bans, newBan(stored))
	}
	return writeJSON(w, http.StatusOK, page)
}

func (r *request) newBan() identity.Revocation {
	return identity.Revocation{Game: r.game, Kind: identity.KindBan, ID: r.PathValue("player"), SetBy: r.actor}
}

func (a *api) putBan(w http.ResponseWriter, r *request) error {
	var body banBody
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	requested := r.newBan()
	requested.Reason, requested.EndsAt = body.Reason, body.ExpiresAt
	stored, err := a.setRevocation(r, requested)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(r.Context(), "player banned", "game", stored.Game, "player", stored.ID, "reason", stored.Reason, "expires_at", stored.EndsAt, "actor", r.actor)
	return writeJSON(w, http.StatusOK, newBan(stored))
}

func (a *api) deleteBan(w http.ResponseWriter, r *request) error {
	ban := r.newBan()
	if err := a.removeRevocation(r, ban); err != nil {
		return err
	}
	a.Logger.InfoContext(r.Context(), "ban removed", "game", ban.Game, "player", ban.ID, "actor", r.actor)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
