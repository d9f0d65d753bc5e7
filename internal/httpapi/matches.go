package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"laststand/internal/answers"
	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// finishedMatch is the response with one page of a settled match. A page contains
// some of the standings, but all Teams and Firsts of a buzzer match.
type finishedMatch struct {
	Match      string                  `json:"match"`
	Mode       match.Mode              `json:"mode"`
	StartedAt  int64                   `json:"started_at"`
	OverAt     int64                   `json:"over_at"`
	Reason     match.Reason            `json:"reason"`
	Questions  int                     `json:"questions"`
	Standings  []protocol.OverStanding `json:"standings"`
	Teams      []protocol.TeamStanding `json:"teams,omitempty"`
	Firsts     []matchFirst            `json:"firsts,omitempty"`
	Voided     []int                   `json:"voided,omitempty"` // questions made void after the match
	NextCursor string                  `json:"next_cursor,omitempty"`
}

// matchFirst is a match.First without the node, because node ids are internal.
type matchFirst struct {
	Question  int    `json:"question"`
	Player    string `json:"player"`
	Nickname  string `json:"nickname"`
	Team      string `json:"team,omitempty"`
	At        int64  `json:"at"`
	ElapsedMS int64  `json:"elapsed_ms"`
}

func publicFirsts(stored []match.First) []matchFirst {
	var firsts []matchFirst
	for _, first := range stored {
		firsts = append(firsts, matchFirst{
			Question: first.Question, Player: first.Player, Nickname: first.Nickname, Team: first.Team, At: first.ArrivedAt, ElapsedMS: first.ElapsedMS,
		})
	}
	return firsts
}

func (h boardRoutes) getMatch(r *request, page paging) (any, error) {
	summary, err := h.History.Match(r.Context(), r.game, r.PathValue("match"))
	if err != nil {
		return nil, err
	}
	from, to, next, err := page.indexRange(summary.Players)
	if err != nil {
		return nil, err
	}
	view := finishedMatch{
		Match: summary.Match, Mode: summary.Mode, StartedAt: summary.StartedAt, OverAt: summary.OverAt, Reason: summary.Reason,
		Questions: summary.Questions, Firsts: publicFirsts(summary.Firsts), Voided: summary.Voided, NextCursor: next,
	}
	for _, team := range summary.Teams {
		view.Teams = append(view.Teams, protocol.TeamStanding{Rank: team.Rank, ID: team.ID, Score: team.Score})
	}
	view.Standings, err = h.History.Standings(r.Context(), summary, from, to)
	body := leaderboard.EncodeAnswer(view)
	body.IsFinal = true
	return r.cacheable(body, err)
}

type ownAnswers struct {
	Questions []ownAnswer `json:"questions"`
}

type ownAnswer struct {
	answers.ReportAnswer
	Text        string        `json:"text"`
	Kind        quiz.Kind     `json:"kind"`
	Choices     []string      `json:"choices,omitempty"`
	Answer      quiz.Solution `json:"answer"`
	Explanation string        `json:"explanation,omitempty"`
	Void        bool          `json:"void,omitempty"` // the question was made void after the match
}

func (h playerRoutes) getAnswers(r *request) (any, error) {
	var view ownAnswers
	err := awaitAnswers(r, func() (err error) {
		view, err = h.readOwnAnswers(r.Context(), r.game, r.PathValue("match"), r.claims.Subject)
		return err
	})
	return view, err
}

// errNotSettled is for players of a match. The match may last, so a request does not wait.
var errNotSettled error = protocol.Errorf(protocol.CodeUnavailable, "the result of this match is not settled yet; retry later")

// readOwnAnswers returns answers.ErrNotPlayer for a match without the player before any other
// error of the match, so that others cannot find out how far it is.
func (h playerRoutes) readOwnAnswers(ctx context.Context, game, id, player string) (ownAnswers, error) {
	m, err := h.Answers.Match(ctx, game, id)
	if errors.Is(err, match.ErrNotFound) {
		hasSeat, err := h.Seats.HasSeat(ctx, game, id, player)
		if err == nil && !hasSeat {
			err = answers.ErrNotPlayer
		}
		return ownAnswers{}, cmp.Or(err, errNotSettled)
	}
	if err != nil && !errors.Is(err, answers.ErrOnTheWay) && !errors.Is(err, answers.ErrNotStored) {
		return ownAnswers{}, err
	}
	given, seatErr := h.Answers.Of(ctx, m, player)
	return newOwnAnswers(m, given), cmp.Or(seatErr, err)
}

// newOwnAnswers returns all revealed questions with the answers that count.
func newOwnAnswers(m answers.Match, given []answers.Answer) ownAnswers {
	view := ownAnswers{make([]ownAnswer, len(m.Questions))}
	for i, shown := range answers.NewReportAnswers(m.Questions, given) {
		q := m.Questions[i]
		view.Questions[i] = ownAnswer{shown, q.Text, q.Kind, q.Choices(), q.Solution(), q.Explanation, slices.Contains(m.Summary.Voided, i)}
	}
	return view
}

func (h boardRoutes) getBoards(r *request) (any, error) {
	return r.cacheable(h.Boards.Listing(r.Context(), r.game))
}

func (h boardRoutes) getBoard(r *request) (any, error) {
	query, err := leaderboard.ParseQuery(r.PathValue("window"), r.query)
	if err != nil {
		return nil, err
	}
	return r.cacheable(h.Boards.Page(r.Context(), r.game, query))
}

func (h boardRoutes) getStanding(r *request) (any, error) {
	query, err := leaderboard.ParseStandingQuery(r.PathValue("window"), r.PathValue("player"), r.query)
	if err != nil {
		return nil, err
	}
	return r.cacheable(h.Boards.Standing(r.Context(), r.game, query))
}

// The values of Cache-Control. Leaderboards may be cached for a second. A
// leaderboard of a past day and a settled match may be cached for a minute:
// only corrections and new nicknames change them.
const (
	cacheOneSecond = "public, max-age=1"
	cacheOneMinute = "public, max-age=60"
)

// cacheable returns the response with a leaderboard or a match: status 304 without
// a body if the client already has this version (If-None-Match).
func (r *request) cacheable(answer leaderboard.Answer, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	header, tag := r.w.Header(), `"`+answer.ETag+`"`
	header.Set("Cache-Control", cacheOneSecond)
	if answer.IsFinal {
		header.Set("Cache-Control", cacheOneMinute)
	}
	header.Set("ETag", tag)
	if matchesETag(r.Header.Values("If-None-Match"), tag) {
		return httpserver.Response{Status: http.StatusNotModified}, nil
	}
	return httpserver.Raw{ContentType: "application/json", Content: answer.JSON}, nil
}

// matchesETag returns true if the values of If-None-Match contain a tag. It uses
// the weak comparison (RFC 9110, 13.1.2).
func matchesETag(values []string, tag string) bool {
	for candidate := range strings.SplitSeq(strings.Join(values, ","), ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}
