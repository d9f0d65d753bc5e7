package httpapi

import (
	"context"
	"net/http"

	"laststand/internal/leaderboard"
)

func (a *api) getBoards(w http.ResponseWriter, r *request) error {
	l, err := a.Boards.Listing(r.Context(), r.game)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, l)
}

func (a *api) getBoard(w http.ResponseWriter, r *request) error {
	if err := playersOnly(r); err != nil {
		return err
	}
	q, err := leaderboard.ParseQuery(r.PathValue("window"), r.query)
	if err != nil {
		return err
	}
	page, err := a.Boards.Page(r.Context(), r.game, q)
	if err != nil {
		return err
	}
	page.Entries = append([]leaderboard.Entry{}, page.Entries...) // the reader's may be shared
	if err := a.name(r.Context(), r.game, page.Entries); err != nil {
		return err
	}
	return answer(w, http.StatusOK, page)
}

func (a *api) getStanding(w http.ResponseWriter, r *request) error {
	if err := playersOnly(r); err != nil {
		return err
	}
	q, err := leaderboard.ParseStandingQuery(r.PathValue("window"), r.PathValue("player"), r.query)
	if err != nil {
		return err
	}
	s, err := a.Boards.Standing(r.Context(), r.game, q)
	if err != nil {
		return err
	}
	entry := []leaderboard.Entry{s.Entry}
	if err := a.name(r.Context(), r.game, entry); err != nil {
		return err
	}
	s.Entry = entry[0]
	return answer(w, http.StatusOK, s)
}

// playersOnly refuses the kind of board that nobody keeps yet.
func playersOnly(r *request) error {
	if r.query.Get("kind") == "team" {
		return badRequest("kind=team: there are no leaderboards of teams yet; leave kind out")
	}
	return nil
}

// name fills in the nicknames of entries as they are now.
func (a *api) name(ctx context.Context, game string, entries []leaderboard.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	names, err := a.Players.Nicknames(ctx, game, ids)
	if err != nil {
		return err
	}
	for i, e := range entries {
		entries[i].Nickname = names[e.ID]
	}
	return nil
}
