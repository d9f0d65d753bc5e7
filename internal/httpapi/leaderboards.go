package httpapi

import (
	"net/http"

	"laststand/internal/leaderboard"
)

func (a *api) getBoards(w http.ResponseWriter, r *request) error {
	listing, err := a.Boards.Listing(r.Context(), r.game)
	if err != nil {
		return err
	}
	return writeCacheable(w, r, listing)
}

func (a *api) getBoard(w http.ResponseWriter, r *request) error {
	query, err := leaderboard.ParseQuery(r.PathValue("window"), r.query)
	if err != nil {
		return err
	}
	page, err := a.Boards.Page(r.Context(), r.game, query)
	if err != nil {
		return err
	}
	return writeCacheable(w, r, page)
}

func (a *api) getStanding(w http.ResponseWriter, r *request) error {
	query, err := leaderboard.ParseStandingQuery(r.PathValue("window"), r.PathValue("player"), r.query)
	if err != nil {
		return err
	}
	standing, err := a.Boards.Standing(r.Context(), r.game, query)
	if err != nil {
		return err
	}
	return writeCacheable(w, r, standing)
}
