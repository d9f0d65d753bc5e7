package ops

import (
	"net/http"

	"laststand/internal/identity"
)

// ban is a ban as the admin API shows it.
type ban struct {
	Player    string `json:"player"`
	Reason    string `json:"reason"`
	CreatedBy string `json:"created_by,omitempty"`
	CreatedAt int64  `json:"created_at"`           // epoch ms, as all times
	ExpiresAt int64  `json:"expires_at,omitempty"` // absent: never
}

func banOf(b identity.Revocation) ban { return ban{b.ID, b.Reason, b.By, b.At, b.EndsAt} }

// banPage is one page of bans; the last page has no cursor.
type banPage struct {
	Bans       []ban  `json:"bans"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// banBody is the body of a request that bans a player.
type banBody struct {
	Reason    string `json:"reason" need:"true"`
	ExpiresAt int64  `json:"expires_at,omitempty"`
}

func (a *api) getBans(w http.ResponseWriter, r *request) error {
	bars, next, err := a.barPage(r, identity.KindBan)
	if err != nil {
		return err
	}
	page := banPage{Bans: []ban{}, NextCursor: next}
	for _, b := range bars {
		page.Bans = append(page.Bans, banOf(b))
	}
	return answer(w, http.StatusOK, page)
}

func (r *request) ban() identity.Revocation {
	return identity.Revocation{Game: r.game, Kind: identity.KindBan, ID: r.PathValue("player"), By: r.actor}
}

func (a *api) putBan(w http.ResponseWriter, r *request) error {
	var body banBody
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	b := r.ban()
	b.Reason, b.EndsAt = body.Reason, body.ExpiresAt
	set, err := a.setBar(r, b)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(r.Context(), "player banned", "game", set.Game, "player", set.ID, "reason", set.Reason, "expires_at", set.EndsAt, "actor", r.actor)
	return answer(w, http.StatusOK, banOf(set))
}

func (a *api) deleteBan(w http.ResponseWriter, r *request) error {
	b := r.ban()
	if err := a.liftBar(r, b); err != nil {
		return err
	}
	a.Logger.InfoContext(r.Context(), "ban removed", "game", b.Game, "player", b.ID, "actor", r.actor)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
