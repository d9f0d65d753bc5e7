package arena

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// Bank gives questions, the choices of each in an order drawn for the match.
type Bank interface {
	// Count says how many questions a match can draw by a wish.
	Count(game string, w Filter) int
	// Draw draws different questions at random.
	Draw(game string, w Filter, count int) ([]quiz.Drawn, error)
	// Pick gives the questions of these ids in their order, of one bank, or of
	// all of the game's where it is "". Errors wrap ErrUnknownQuestion. Banks that
	// only hosts draw from are there for a host alone.
	Pick(game, bank string, ids []string, host bool) ([]quiz.Drawn, error)
}

// ErrUnknownQuestion says that there is no bank of a name, or no question of
// an id in it.
var ErrUnknownQuestion = errors.New("arena: unknown question")

// Filter narrows what an arena asks; an empty field matches any. Of a bank that
// the game does not have there are no questions. Host says that banks which only
// hosts draw from are meant too.
type Filter struct {
	Bank, Category, Lang, Difficulty string
	Host                             bool
}

// Players gives the seat of a player, of which the nickname counts.
type Players interface {
	Seat(ctx context.Context, game, player string) (match.Seat, error)
}

// Game is how a game plays its arenas. LimitMS and MaxPlayers are what an arena
// has that does not ask for less, and MaxPlayers is the most.
type Game struct {
	PlayersMayHost                 bool
	LimitMS, CountdownMS, RevealMS int64
	MaxPlayers                     int
	TeamLockoutMS                  int64
	Words                          *nickname.Words // that no name of an arena or a team may hold; nil: all may
}

// Config is what a service is made of; all fields but Registry are needed.
type Config struct {
	Games      map[string]Game
	Seats      Seats
	Codes      Codes
	Activities Activities
	Matches    Matches
	Bank       Bank
	Players    Players
	Logger     *slog.Logger
	Registry   prometheus.Registerer
}

// Service makes arenas, lets people in and does what their hosts ask for. What
// it refuses is an *protocol.Error. It keeps nothing of its own, and is safe
// for concurrent use.
type Service struct {
	Config
	metrics *metrics
}

// callTimeout bounds what is done after a reply, or for nobody who waits.
const callTimeout = 2 * time.Second

// New makes a service.
func New(c Config) *Service { return &Service{Config: c, metrics: newMetrics(c.Registry)} }

// readByID reads an arena by its id. Its match has the same but for the first
// letter.
func (s *Service) readByID(ctx context.Context, game, arenaID string) (match.View, error) {
	v, err := s.readArena(ctx, game, "m_"+strings.TrimPrefix(arenaID, "a_"))
	if err == nil && v.Plan.Arena.ID != arenaID {
		return match.View{}, notFound()
	}
	return v, err
}

// readByCode reads an arena by its code.
func (s *Service) readByCode(ctx context.Context, game, code string) (match.View, error) {
	if !isCode(code) {
		return match.View{}, notFound()
	}
	id, err := s.Codes.FindCode(ctx, game, code)
	if err != nil {
		return match.View{}, err
	}
	if id == "" {
		return match.View{}, notFound()
	}
	return s.readArena(ctx, game, id)
}

// readArena reads an arena by the id of its match.
func (s *Service) readArena(ctx context.Context, game, id string) (match.View, error) {
	v, err := s.Matches.ReadArena(ctx, id)
	if errors.Is(err, match.ErrNotFound) || err == nil && (v.Plan.Arena == nil || v.Plan.Game != game) {
		return match.View{}, notFound()
	}
	return v, err
}

// The states of the wire contract.
const (
	stateLobby   = "lobby"
	statePlaying = "playing"
	stateOver    = "over"
)

// publicState is a phase as people see it.
func publicState(p match.Phase) string {
	switch p {
	case match.Lobby, match.Starting:
		return stateLobby
	case match.Over, match.Settled:
		return stateOver
	}
	return statePlaying
}

func newRefusal(c protocol.Code, format string, args ...any) error {
	return protocol.Errorf(c, format, args...)
}

func badRequest(format string, args ...any) error {
	return newRefusal(protocol.CodeBadRequest, format, args...)
}

func notFound() error {
	return newRefusal(protocol.CodeNotFound, "there is no such arena, or not any more; look at the code again")
}
