package httpapi

import (
	"errors"
	"time"

	"laststand/internal/answers"
	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/loop"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/report"
)

const (
	maxReportPlayers = 500 // per page
	// Answers reach the ledger about a second after the result. A request waits that long,
	// so that the report is there once `settled` was pushed.
	answersWait = 2500 * time.Millisecond
	answersPoll = 100 * time.Millisecond
)

// getReport returns the report of an arena with a page of its players.
func (h arenaRoutes) getReport(r *request) (any, error) {
	record, err := h.authorizeReport(r)
	if err != nil {
		return nil, err
	}
	page, err := readPagingUpTo(r.query, maxReportPlayers)
	if err != nil {
		return nil, err
	}
	m, err := h.settledMatch(r, record)
	if err != nil {
		return nil, err
	}
	from, to, next, err := page.indexRange(m.Summary.Players)
	if err != nil {
		return nil, err
	}
	view, err := report.New(r.Context(), h.Answers, record, m)
	if err == nil {
		err = view.AddPlayers(r.Context(), h.Answers, m, from, to)
	}
	view.NextCursor = next
	return view, err
}

// authorizeReport returns the arena in the path to its host, and to services of the game.
func (h arenaRoutes) authorizeReport(r *request) (arena.Record, error) {
	claims, err := h.authenticate(r)
	if err == nil && claims.Role != identity.RoleService {
		claims, err = h.resolveHost(r, claims)
	}
	if err != nil {
		return arena.Record{}, err
	}
	record, err := h.Arenas.FindRecord(r.Context(), r.game, r.PathValue("arena_id"))
	if err == nil && claims.Role != identity.RoleService && claims.Subject != record.Host {
		err = protocol.Errorf(protocol.CodeForbidden, "only the host of the arena and services can read its report")
	}
	if err != nil {
		return arena.Record{}, err
	}
	return record, nil
}

// settledMatch returns the match of an arena with its questions. If the answers are on
// their way to the ledger, it waits for them.
func (h arenaRoutes) settledMatch(r *request, record arena.Record) (answers.Match, error) {
	deadline := time.Now().Add(answersWait)
	for {
		m, err := h.Answers.Match(r.Context(), r.game, record.Match)
		if errors.Is(err, match.ErrNotFound) {
			if err := h.Arenas.CheckOver(r.Context(), record); err != nil {
				return answers.Match{}, err
			}
			return answers.Match{}, protocol.Errorf(protocol.CodeNotFound, "the arena has no report: it ended before its first question, or it has been deleted")
		}
		if !errors.Is(err, answers.ErrOnTheWay) || time.Now().After(deadline) || !loop.Sleep(r.Context(), answersPoll) {
			return m, err
		}
	}
}
