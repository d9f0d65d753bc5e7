package ws

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// people are an Identity whose tokens read ROLE/SUBJECT/EXPIRY, with /pi:PI behind
// where there is one, and the seats of its players. It panics over a player "poison".
type people struct {
	ensured chan struct{} // Ensure waits for it where it is set

	mu   sync.Mutex
	bars map[string]error // why somebody may not be here, by subject
}

func (p *people) bar(subject string, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars == nil {
		p.bars = map[string]error{}
	}
	p.bars[subject] = why
}

func (p *people) Stands(c identity.Claims, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Subject != id {
		return errPeople
	}
	return p.bars[id]
}

var errPeople = errors.New("people are out of reach")

func token(role identity.Role, subject string, expires int64) string {
	return fmt.Sprintf("%s/%s/%d", role, subject, expires)
}

func (p *people) Verify(_ context.Context, token string) (identity.Claims, error) {
	if token == "unreachable" {
		return identity.Claims{}, errPeople
	}
	switch token {
	case "banned":
		return identity.Claims{}, &identity.BannedError{Reason: "two accounts"}
	case "revoked":
		return identity.Claims{}, identity.ErrTokenRevoked
	}
	token, pi, _ := strings.Cut(token, "/pi:")
	parts := strings.Split(token, "/")
	if len(parts) != 3 {
		return identity.Claims{}, identity.ErrTokenMalformed
	}
	expires, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return identity.Claims{}, identity.ErrTokenMalformed
	}
	return identity.Claims{Role: identity.Role(parts[0]), Subject: parts[1], Game: "demo", PI: pi, ExpiresAt: expires}, nil
}

func (p *people) Ensure(_ context.Context, c identity.Claims) (identity.Player, error) {
	if p.ensured != nil {
		<-p.ensured
	}
	if c.Subject == "poison" {
		panic("a secret")
	}
	return identity.Player{Game: c.Game, ID: c.Subject, Nickname: "Nick " + c.Subject}, nil
}

// CheckHost refuses the host "erased", of whom Stands does not know any more.
func (p *people) CheckHost(_ context.Context, c identity.Claims) error {
	if c.Subject == "erased" {
		return identity.ErrErased
	}
	return nil
}

// Seat implements lobby.Players.
func (p *people) Seat(_ context.Context, _, player string) (match.Seat, error) {
	return match.Seat{Player: player, Nickname: "Nick " + player}, nil
}

// bank has as many questions of every wish as are asked for; the first choice
// is right. A wish for the category "none" is met by no question.
type bank struct{}

func (bank) Count(_ string, w lobby.Filter) int {
	if w.Category == "none" {
		return 0
	}
	return 1000
}

func (bank) Draw(_ string, _ lobby.Filter, count int, _ map[string]struct{}) ([]quiz.Drawn, error) {
	questions := make([]quiz.Drawn, count)
	for i := range questions {
		questions[i].Question = &quiz.Question{
			ID: fmt.Sprint("q", i), Kind: quiz.Single, Lang: "en", Category: "test", Difficulty: quiz.Easy,
			Text: fmt.Sprint("Question ", i, "?"), Choices: []string{"yes", "no"}, Right: []int{0}, Explanation: "because",
		}
	}
	return questions, nil
}

// forgetful is a Memory that holds nothing.
type forgetful struct{}

func (forgetful) SeenQuestions(context.Context, string, []string) (map[string]struct{}, error) {
	return nil, nil
}

func (forgetful) AddSeen(context.Context, string, []string, []string) error { return nil }

// arenas are an Arenas that keeps what it was asked, and answers what a test
// sets: nothing refused where that is nil.
type arenas struct {
	mu     sync.Mutex
	asked  []string
	answer func(ctx context.Context) error
	joined protocol.ArenaJoined
	then   func()
}

func (a *arenas) set(answer func(context.Context) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

// take gives what was asked since it was called last.
func (a *arenas) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

func (a *arenas) ask(ctx context.Context, format string, args ...any) error {
	a.mu.Lock()
	a.asked = append(a.asked, fmt.Sprintf(format, args...))
	answer := a.answer
	a.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(ctx)
}

func (a *arenas) Join(ctx context.Context, r arena.JoinRequest) (protocol.ArenaJoined, func(), error) {
	err := a.ask(ctx, "join %+v", r)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.then == nil || err != nil {
		return a.joined, nothing, err
	}
	return a.joined, a.then, nil
}

func (a *arenas) Leave(ctx context.Context, game, player, id string) error {
	return a.ask(ctx, "leave %s %s %s", game, player, id)
}

func (a *arenas) Start(ctx context.Context, game, caller, id string) error {
	return a.ask(ctx, "start %s %s %s", game, caller, id)
}

func (a *arenas) Close(ctx context.Context, game, caller, id string) error {
	return a.ask(ctx, "close %s %s %s", game, caller, id)
}

func (a *arenas) Lock(ctx context.Context, game, caller, id string) error {
	return a.ask(ctx, "lock %s %s %s", game, caller, id)
}

func (a *arenas) Next(ctx context.Context, game, caller string, n protocol.ArenaNext) error {
	return a.ask(ctx, "next %s %s %+v", game, caller, n)
}

func (a *arenas) Kick(ctx context.Context, game, caller string, k protocol.ArenaKick) error {
	return a.ask(ctx, "kick %s %s %+v", game, caller, k)
}
