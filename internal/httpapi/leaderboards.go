package httpapi

import (
	"net/http"

	"laststand/internal/leaderboard"
)

func (h boardRoutes) getBoards(w http.ResponseWriter, r *request) error {
	listing, err := h.Boards.Listing(r.Context(), r.game)
	if err != nil {
		return err
	}
	return writeCacheable(w, r, listing)
}

func (h boardRoutes) getBoard(w http.ResponseWriter, r *request) error {
	query, err := leaderboard.ParseQuery(r.PathValue("window"), r.query)
	if err != nil {
		return err
	}
	page, err := h.Boards.Page(r.Context(), r.game, query)
	if err != nil {
		return err
	}
	return writeCacheable(w, r, page)
}

func (h boardRoutes) getStanding(w http.ResponseWriter, r *request) error {
	query, err := leaderboard.ParseStandingQuery(r.PathValue("window"), r.PathValue("player"), r.query)
	if err != nil {
		return err
	}
	standing, err := h.Boards.Standing(r.Context(), r.game, query)
	if err != nil {
		return err
	}
	return writeCacheable(w, r, standing)
}
