package arena

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/metric"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// Bank provides questions; *quiz.Library implements it. The choices of each drawn question are in
// random order.
type Bank interface {
	// Count returns how many questions match a filter.
	Count(source quiz.Source, filter quiz.Filter) int
	// Draw returns different random questions.
	Draw(source quiz.Source, filter quiz.Filter, count int, seen func(id string) bool) ([]quiz.DrawnQuestion, error)
	// Pick returns the questions with these ids in this order. Errors wrap quiz.ErrUnknownID.
	Pick(source quiz.Source, ids []string) ([]quiz.DrawnQuestion, error)
}

// Players finds the players of a game.
type Players interface {
	// Seat returns a seat with the nickname of a player. Arenas ignore its rating.
	Seat(ctx context.Context, game, player string) (match.Seat, error)
	// FindNamed returns the player with a nickname or one that looks like it, "" if there
	// is none.
	FindNamed(ctx context.Context, game, nickname string) (player string, err error)
}

// GameSettings contains the settings of a game's arenas. LimitMS is the default time to
// answer a question. MaxPlayers is the default and also the maximum.
type GameSettings struct {
	PlayersMayHost                 bool // true: a token with role player may create an arena
	LimitMS, CountdownMS, RevealMS int64
	MaxPlayers                     int
	TeamLockoutMS                  int64           // buzzer matches: how long a team is locked out after a wrong answer
	Words                          *nickname.Words // words that names of arenas and teams must not contain; nil allows all
}

// Config configures a Service. Every field except Registry is required.
type Config struct {
	Games      map[string]GameSettings
	Seats      Seats
	Codes      Codes
	Activities Activities
	Matches    Matches
	Records    Records
	Commands   Commands
	Audience   Audience
	Bank       Bank
	Players    Players
	Logger     *slog.Logger
	Registry   prometheus.Registerer
}

// Service creates arenas, admits people and executes the requests of hosts. Its
// refusals are *protocol.Error. It has no state of its own and is safe for
// concurrent use.
type Service struct {
	Config
	metrics *metrics
}

// callTimeout limits work for which no caller waits.
const callTimeout = 2 * time.Second

// New returns a Service with new metrics on the registry.
func New(c Config) *Service { return &Service{Config: c, metrics: newMetrics(c.Registry)} }

// readByID reads an arena by its id, a_…. The id of its match is the same with m_.
func (s *Service) readByID(ctx context.Context, game, arenaID string) (match.View, error) {
	view, err := s.readArena(ctx, game, matchID(arenaID))
	if err == nil && view.Plan.Arena.ID != arenaID {
		return match.View{}, notFoundError()
	}
	return view, err
}

// readByCode reads an arena by its code.
func (s *Service) readByCode(ctx context.Context, game, code string) (match.View, error) {
	if !isCode(code) {
		return match.View{}, notFoundError()
	}
	id, err := s.Codes.FindCode(ctx, game, code)
	if err != nil {
		return match.View{}, err
	}
	if id == "" {
		return match.View{}, notFoundError()
	}
	return s.readArena(ctx, game, id)
}

// readArena reads an arena by the id of its match.
func (s *Service) readArena(ctx context.Context, game, id string) (match.View, error) {
	view, err := s.Matches.ReadArena(ctx, id)
	if errors.Is(err, match.ErrNotFound) || err == nil && (view.Plan.Arena == nil || view.Plan.Game != game) {
		return match.View{}, notFoundError()
	}
	return view, err
}

// The states of the wire contract.
const (
	stateLobby   = "lobby"
	statePlaying = "playing"
	stateOver    = "over"
)

// publicState returns the state that the wire contract has for a phase.
func publicState(p match.Phase) string {
	switch p {
	case match.PhaseLobby, match.PhaseStarting:
		return stateLobby
	case match.PhaseOver, match.PhaseSettled:
		return stateOver
	}
	return statePlaying
}

func badRequestError(format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.CodeBadRequest, format, args...)
}

func notFoundError() error {
	return protocol.Errorf(protocol.CodeNotFound, "the arena does not exist or is over; check the code")
}

type metrics struct {
	creations *prometheus.CounterVec // by outcome: created, a code, failed
	joins     *prometheus.CounterVec // by outcome: a role, a code, failed
}

func newMetrics(r prometheus.Registerer) *metrics {
	factory := metric.For(r, "laststand_arena_")
	return &metrics{
		creations: factory.Counters("creations_total", "Requests to create an arena, by outcome.", "outcome"),
		joins:     factory.Counters("joins_total", "Requests to join an arena, by outcome.", "outcome"),
	}
}
