package httpapi

import "laststand/internal/match"

type profile struct {
	PlayerID string  `json:"player_id"`
	Nickname string  `json:"nickname"`
	Rating   int     `json:"rating"`
	Score    int64   `json:"score"`
	TimeMS   int64   `json:"time_ms"`
	Matches  int64   `json:"matches"`
	Asked    int64   `json:"asked"`
	Answered int64   `json:"answered"`
	Correct  int64   `json:"correct"`
	Accuracy float64 `json:"accuracy"`
	JoinedAt int64   `json:"joined_at"`
}

func (h playerRoutes) getPlayer(r *request) (any, error) {
	player, err := h.Players.Player(r.Context(), r.game, r.PathValue("player"))
	if err != nil {
		return nil, err
	}
	totals := player.Totals
	return profile{
		PlayerID: player.ID, Nickname: player.Nickname, Rating: player.Rating.Rounded(),
		Score: totals.Score, TimeMS: totals.TimeMS, Matches: totals.Matches,
		Asked: totals.Asked, Answered: totals.Answered, Correct: totals.Correct, Accuracy: totals.Accuracy(),
		JoinedAt: player.JoinedAt,
	}, nil
}

type historyPage struct {
	Matches    []match.HistoryEntry `json:"matches"`
	NextCursor string               `json:"next_cursor,omitempty"`
}

func (h playerRoutes) getHistory(r *request) (any, error) {
	page, err := readPaging(r.query)
	if err != nil {
		return nil, err
	}
	player := r.PathValue("player")
	if _, err := h.Players.Player(r.Context(), r.game, player); err != nil {
		return nil, err // unknown or erased: the matches stay, but the list of matches is gone
	}
	matches, next, err := h.History.Matches(r.Context(), r.game, player, page.cursor, page.limit)
	if err != nil {
		return nil, err
	}
	return historyPage{nonNil(matches), next}, nil
}
