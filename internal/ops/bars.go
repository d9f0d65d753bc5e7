package ops

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"laststand/internal/identity"
)

// Bars keeps players and tokens out, on all nodes; of the game "" tokens of
// admins. identity.ErrNoBar.
type Bars interface {
	SetBar(ctx context.Context, b identity.Bar) (identity.Bar, error)
	LiftBar(ctx context.Context, b identity.Bar) error
	// BarsOf gives bars in force, the last change first, from before a position;
	// 0: from the last.
	BarsOf(ctx context.Context, game string, kind identity.BarKind, before int64, limit int) ([]identity.Bar, error)
	// Erase has a player be no more; identity.ErrNotFound.
	Erase(ctx context.Context, game, player string) error
	// ResetDevice gives a guest, named by its id or its account's, a new device:
	// identity.ErrNotFound, ErrNotGuest.
	ResetDevice(ctx context.Context, game, id string) (player, device string, err error)
	// Untie has the account of a guest, named by the id of either, speak for nobody:
	// identity.ErrNoAccount.
	Untie(ctx context.Context, game, id string) (account string, err error)
	// PlayerNamed finds who holds a nickname, as far as people can tell it from
	// others: identity.ErrNotFound, nickname.ErrInvalid.
	PlayerNamed(ctx context.Context, game, name string) (identity.Player, error)
}

// bar is a bar as operators see it.
type bar struct {
	Kind         identity.BarKind `json:"kind"`
	ID           string           `json:"id"`
	Reason       string           `json:"reason"`
	By           string           `json:"by,omitempty"`
	At           int64            `json:"at"`
	EndsAt       int64            `json:"ends_at,omitempty"`
	IssuedBefore int64            `json:"issued_before,omitempty"`
}

func shownBar(b identity.Bar) bar {
	return bar{b.Kind, b.ID, b.Reason, b.By, b.At, b.EndsAt, b.IssuedBefore}
}

type barPage struct {
	Bars       []bar  `json:"bars"`
	NextCursor string `json:"next_cursor,omitempty"`
}

func (a *api) getBars(w http.ResponseWriter, r *request) error {
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	before := int64(0)
	if cursor := r.query.Get("cursor"); cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before <= 0 {
			return badRequest("cursor: take it from a page before this one")
		}
	}
	kind := identity.BarKind(r.query.Get("kind"))
	if kind != "" && !slices.Contains(identity.BarKinds(), kind) {
		return badRequest("kind: one of %v", identity.BarKinds())
	}
	ctx, cancel := r.within()
	defer cancel()
	bars, err := a.Bars.BarsOf(ctx, r.game, kind, before, limit+1)
	if err != nil {
		return err
	}
	page := barPage{Bars: []bar{}}
	if len(bars) > limit {
		bars = bars[:limit]
		page.NextCursor = strconv.FormatInt(bars[limit-1].Seq, 10)
	}
	for _, b := range bars {
		page.Bars = append(page.Bars, shownBar(b))
	}
	return answer(w, http.StatusOK, page)
}

// barBody says why, until when, and of a subject which tokens.
type barBody struct {
	Reason       string `json:"reason" need:"true"`
	EndsAt       int64  `json:"ends_at,omitempty"`
	IssuedBefore int64  `json:"issued_before,omitempty"`
}

// asked is the bar that a path names.
func (r *request) asked() identity.Bar {
	return identity.Bar{Game: r.game, Kind: identity.BarKind(r.PathValue("kind")), ID: r.PathValue("id"), By: r.by}
}

func (a *api) putBar(w http.ResponseWriter, r *request) error {
	var body barBody
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	b := r.asked()
	b.Reason, b.EndsAt, b.IssuedBefore = body.Reason, body.EndsAt, body.IssuedBefore
	if err := b.Check(a.Now()); err != nil {
		return err
	}
	ctx, cancel := r.within()
	defer cancel()
	set, err := a.Bars.SetBar(ctx, b)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "barred", "game", set.Game, "kind", set.Kind, "id", set.ID, "reason", set.Reason, "by", set.By)
	return answer(w, http.StatusOK, shownBar(set))
}

func (a *api) deleteBar(w http.ResponseWriter, r *request) error {
	b := r.asked()
	b.Reason = "lifted"
	if err := b.Check(a.Now()); err != nil {
		return err
	}
	ctx, cancel := r.within()
	defer cancel()
	if err := a.Bars.LiftBar(ctx, b); err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "a bar was lifted", "game", b.Game, "kind", b.Kind, "id", b.ID, "by", b.By)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
