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
func (s *Service) Create(ctx context.Context, request CreateRequest) (protocol.ArenaMade, error) {
	created, err := s.create(ctx, request)
	s.metrics.creations.WithLabelValues(protocol.Outcome(err, "created")).Inc()
	return created, err
}

func (s *Service) create(ctx context.Context, request CreateRequest) (protocol.ArenaMade, error) {
	settings := s.Games[request.Game]
	if err := checkAllowed(request, settings); err != nil {
		return protocol.ArenaMade{}, err
	}
	if err := s.Matches.CheckOverload(); err != nil {
		return protocol.ArenaMade{}, protocol.RetryAfter(protocol.CodeOverloaded, 5000, "too many results wait to be settled; retry in 5 s")
	}
	body, err := checkBody(request.NewArena, settings)
	if err != nil {
		return protocol.ArenaMade{}, err
	}
	request.NewArena = body
	questions, err := s.drawQuestions(request.Game, body.Questions, request.Role == identity.RoleHost)
	if err != nil {
		return protocol.ArenaMade{}, err
	}
	plan := newPlan(request, settings, questions)
	if plan.Arena.Code, err = s.claimCode(ctx, plan); err != nil {
		return protocol.ArenaMade{}, err
	}
	err = s.Records.AddArena(ctx, Record{Game: plan.Game, Match: plan.ID, Host: plan.Arena.Host, Name: plan.Arena.Name, Mode: plan.Mode})
	if err == nil {
		err = s.Matches.CreateArena(ctx, plan)
	}
	if err != nil {
		s.ReleaseCode(plan.Game, plan.Arena.Code)
		return protocol.ArenaMade{}, err
	}
	return protocol.ArenaMade{ArenaID: plan.Arena.ID, Code: plan.Arena.Code}, nil
}

// checkAllowed refuses requests that the role of the token does not allow.
func checkAllowed(request CreateRequest, settings GameSettings) error {
	switch {
	case request.Role == identity.RoleHost:
		return nil
	case request.Role != identity.RolePlayer || !settings.PlayersMayHost:
		return protocol.Errorf(protocol.CodeForbidden, "this game requires a token with role host to create an arena").Because(protocol.ReasonHostsOnly)
	case request.Ranked:
		return protocol.Errorf(protocol.CodeForbidden, "ranked requires a token with role host; leave out ranked")
	}
	return nil
}

// drawQuestions returns an arena's questions: those with the given ids, or random
// ones that match the filter. If includeHostBanks is true, it also uses banks that
// are reserved for hosts.
func (s *Service) drawQuestions(game string, wanted protocol.ArenaQuestions, includeHostBanks bool) ([]quiz.DrawnQuestion, error) {
	source := quiz.Source{Game: game, Bank: wanted.Bank, ForHost: includeHostBanks}
	if len(wanted.IDs) > 0 {
		questions, err := s.Bank.Pick(source, wanted.IDs)
		if errors.Is(err, quiz.ErrUnknownID) {
			return nil, badRequestError("questions.ids contains a question that is not in the game's banks, or not in questions.bank")
		}
		return questions, err
	}
	filter := quiz.Filter{Category: wanted.Category, Lang: wanted.Lang, Difficulty: wanted.Difficulty}
	if available := s.Bank.Count(source, filter); available < wanted.Count {
		return nil, badRequestError("questions.count is %d and only %d match; ask for fewer, or leave out bank, category, lang or difficulty", wanted.Count, available).Because(protocol.ReasonTooFewQuestions)
	}
	return s.Bank.Draw(source, filter, wanted.Count, nil)
}

// newPlan returns the plan of an arena's match without the code.
func newPlan(request CreateRequest, settings GameSettings, questions []quiz.DrawnQuestion) *match.Plan {
	id := ulid.Make().String()
	plan := &match.Plan{
		Form: match.CurrentForm, ID: "m_" + id, Game: request.Game, Mode: match.Mode(request.Mode), Questions: questions,
		Rules: match.Rules{LimitMS: *request.TimeLimitMS}, CountdownMS: settings.CountdownMS, RevealMS: settings.RevealMS, CountsForLeaderboards: request.Ranked,
		Arena: &match.Arena{
			ID: "a_" + id, Name: request.Name, Host: request.Creator, MaxPlayers: *request.MaxPlayers, HostPaced: request.Pace == paceHost,
			LateJoin: request.LateJoin == lateJoinZero,
		},
	}
	for _, t := range request.Teams {
		plan.Arena.Teams = append(plan.Arena.Teams, match.Team(t))
	}
	addScoring(plan, request.NewArena)
	if plan.Mode == match.Buzzer {
		plan.Arena.TeamLockoutMS = settings.TeamLockoutMS
	}
	return plan
}

const (
	// maxCodeTries is how many random codes claimCode tries. If 90 % of all
	// codes are in use, about one arena in thirty still finds none.
	maxCodeTries = 32
	// codesFullRetryMS is how long a client must wait until codes may be free
	// again.
	codesFullRetryMS = 60_000
)

// claimCode claims a random code for the match of an arena.
func (s *Service) claimCode(ctx context.Context, plan *match.Plan) (string, error) {
	for range maxCodeTries {
		code := newCode()
		free, err := s.Codes.ClaimCode(ctx, plan.Game, code, plan.ID)
		if err != nil || free {
			return code, err
		}
	}
	return "", protocol.RetryAfter(protocol.CodeOverloaded, codesFullRetryMS, "nearly all codes are in use; retry in 60 s")
}

// ReleaseCode frees the code of an arena after an hour. It is for arenas whose
// match is over or was never created. It logs errors.
func (s *Service) ReleaseCode(game, code string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := s.Codes.RetireCode(ctx, game, code); err != nil {
		s.Logger.Warn("arena code not released; it expires by itself", "game", game, "code", code, "error", err)
	}
}
