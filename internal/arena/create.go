package arena

import (
	"context"
	"errors"

	"github.com/oklog/ulid/v2"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// CreateRequest asks for a new arena.
type CreateRequest struct {
	Game, Creator string        // Creator is the subject of the token and becomes the host
	Role          identity.Role // of the token
	protocol.NewArena
}

// Create creates an arena. The caller must add the join URL to the reply, because
// only the caller knows the public address.
func (s *Service) Create(ctx context.Context, c CreateRequest) (protocol.ArenaMade, error) {
	made, err := s.create(ctx, c)
	s.metrics.creations.WithLabelValues(outcome(err, "created")).Inc()
	return made, err
}

func (s *Service) create(ctx context.Context, c CreateRequest) (protocol.ArenaMade, error) {
	game := s.Games[c.Game]
	if err := checkAllowed(c, game); err != nil {
		return protocol.ArenaMade{}, err
	}
	if err := s.Matches.CheckOverload(); err != nil {
		return protocol.ArenaMade{}, protocol.RetryAfter(protocol.CodeOverloaded, 5000, "too many results wait to be settled; retry in 5 s")
	}
	body, err := checkBody(c.NewArena, game)
	if err != nil {
		return protocol.ArenaMade{}, err
	}
	c.NewArena = body
	questions, err := s.drawQuestions(c.Game, body.Questions, c.Role == identity.RoleHost)
	if err != nil {
		return protocol.ArenaMade{}, err
	}
	p := newPlan(c, game, questions)
	if p.Arena.Code, err = s.claimCode(ctx, p); err != nil {
		return protocol.ArenaMade{}, err
	}
	if err := s.Matches.CreateArena(ctx, p); err != nil {
		s.ReleaseCode(p.Game, p.Arena.Code)
		return protocol.ArenaMade{}, err
	}
	return protocol.ArenaMade{ArenaID: p.Arena.ID, Code: p.Arena.Code}, nil
}

// checkAllowed refuses requests that the role of the token does not allow.
func checkAllowed(c CreateRequest, g Game) error {
	switch {
	case c.Role == identity.RoleHost:
		return nil
	case c.Role != identity.RolePlayer || !g.PlayersMayHost:
		return newRefusal(protocol.CodeForbidden, "this game requires a token with role host to create an arena")
	case c.Ranked:
		return newRefusal(protocol.CodeForbidden, "ranked requires a token with role host; leave out ranked")
	}
	return nil
}

// drawQuestions returns an arena's questions: those with the given ids, or random
// ones that match the filter. If includeHostBanks is true, it also uses banks that
// are reserved for hosts.
func (s *Service) drawQuestions(game string, q protocol.ArenaQuestions, host bool) ([]quiz.Drawn, error) {
	if len(q.IDs) > 0 {
		questions, err := s.Bank.Pick(game, q.Bank, q.IDs, host)
		if errors.Is(err, ErrUnknownQuestion) {
			return nil, badRequest("questions.ids contains a question that is not in the game's banks, or not in questions.bank")
		}
		return questions, err
	}
	w := Filter{Bank: q.Bank, Category: q.Category, Lang: q.Lang, Difficulty: q.Difficulty, Host: host}
	if have := s.Bank.Count(game, w); have < q.Count {
		return nil, badRequest("questions.count is %d and only %d match; ask for fewer, or leave out bank, category, lang or difficulty", q.Count, have)
	}
	return s.Bank.Draw(game, w, q.Count)
}

// newPlan returns the plan of an arena's match without the code.
func newPlan(c CreateRequest, g Game, questions []quiz.Drawn) *match.Plan {
	id := ulid.Make().String()
	p := &match.Plan{
		Form: match.Form, ID: "m_" + id, Game: c.Game, Mode: match.Mode(c.Mode), Questions: questions,
		LimitMS: *c.TimeLimitMS, CountdownMS: g.CountdownMS, RevealMS: g.RevealMS, Counts: c.Ranked,
		Arena: &match.Arena{
			ID: "a_" + id, Name: c.Name, Host: c.Creator, MaxPlayers: *c.MaxPlayers, HostPaced: c.Pace == paceHost,
		},
	}
	for _, t := range c.Teams {
		p.Arena.Teams = append(p.Arena.Teams, match.Team(t))
	}
	if p.Mode == match.Buzzer {
		p.Arena.TeamLockoutMS = g.TeamLockoutMS
	}
	return p
}
