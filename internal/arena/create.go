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

// Creation asks for an arena, in the name of the bearer of a token, who becomes
// its host.
type Creation struct {
	Game, By string
	Role     identity.Role
	protocol.NewArena
}

// Create makes an arena. Its join URL is left to the edge, which knows under
// what name it is reached.
func (s *Service) Create(ctx context.Context, c Creation) (protocol.ArenaMade, error) {
	made, err := s.create(ctx, c)
	s.metrics.created.WithLabelValues(outcome(err, "created")).Inc()
	return made, err
}

func (s *Service) create(ctx context.Context, c Creation) (protocol.ArenaMade, error) {
	game := s.Games[c.Game]
	if err := allowed(c, game); err != nil {
		return protocol.ArenaMade{}, err
	}
	if err := s.Matches.CheckOverload(); err != nil {
		return protocol.ArenaMade{}, protocol.RetryAfter(protocol.CodeOverloaded, 5000, "too much is waiting to be settled; try again in some seconds")
	}
	body, err := check(c.NewArena, game)
	if err != nil {
		return protocol.ArenaMade{}, err
	}
	c.NewArena = body
	questions, err := s.draw(c.Game, body.Questions, c.Role == identity.RoleHost)
	if err != nil {
		return protocol.ArenaMade{}, err
	}
	p := plan(c, game, questions)
	if p.Arena.Code, err = s.claim(ctx, p); err != nil {
		return protocol.ArenaMade{}, err
	}
	if err := s.Matches.CreateArena(ctx, p); err != nil {
		s.Over(p.Game, p.Arena.Code)
		return protocol.ArenaMade{}, err
	}
	return protocol.ArenaMade{ArenaID: p.Arena.ID, Code: p.Arena.Code}, nil
}

// allowed says who may make an arena, and which.
func allowed(c Creation, g Game) error {
	switch {
	case c.Role == identity.RoleHost:
		return nil
	case c.Role != identity.RolePlayer || !g.PlayersMayHost:
		return refused(protocol.CodeForbidden, "an arena of this game is made with a token of the role host")
	case c.Ranked:
		return refused(protocol.CodeForbidden, "only arenas made with a token of the role host count for boards; leave out ranked")
	}
	return nil
}

// draw gets an arena's questions: those named, or some by the wish.
func (s *Service) draw(game string, q protocol.ArenaQuestions, host bool) ([]quiz.Drawn, error) {
	if len(q.IDs) > 0 {
		questions, err := s.Bank.Pick(game, q.Bank, q.IDs, host)
		if errors.Is(err, ErrUnknownQuestion) {
			return nil, bad("questions.ids names a question that is not in the game's banks, or not in the bank named")
		}
		return questions, err
	}
	w := Wish{Bank: q.Bank, Category: q.Category, Lang: q.Lang, Difficulty: q.Difficulty, Host: host}
	if have := s.Bank.Count(game, w); have < q.Count {
		return nil, bad("questions.count asks for %d and only %d meet this wish; ask for fewer, or leave out bank, category, lang or difficulty", q.Count, have)
	}
	return s.Bank.Draw(game, w, q.Count)
}

// plan is the match of an arena, but for the code.
func plan(c Creation, g Game, questions []quiz.Drawn) *match.Plan {
	id := ulid.Make().String()
	p := &match.Plan{
		Form: match.Form, ID: "m_" + id, Game: c.Game, Mode: match.Mode(c.Mode), Questions: questions,
		LimitMS: *c.TimeLimitMS, CountdownMS: g.CountdownMS, RevealMS: g.RevealMS, Counts: c.Ranked,
		Arena: &match.Arena{
			ID: "a_" + id, Name: c.Name, Host: c.By, MaxPlayers: *c.MaxPlayers, HostPaced: c.Pace == byHost,
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
