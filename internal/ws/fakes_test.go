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
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// fakeIdentity is an Identity with tokens of the form ROLE/SUBJECT/EXPIRY, with an
// optional /pi:PI at the end. It also makes the players' seats. It panics on the player
// "poison".
type fakeIdentity struct {
	ensureMayReturn chan struct{} // if set, Ensure waits until it is closed

	mu      sync.Mutex
	revoked map[string]error // the error of CheckActive, by subject
}

func (i *fakeIdentity) setRevoked(subject string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.revoked == nil {
		i.revoked = map[string]error{}
	}
	i.revoked[subject] = err
}

func (i *fakeIdentity) CheckActive(claims identity.Claims, id string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if claims.Subject != id {
		return errUnreachable
	}
	return i.revoked[id]
}

var errUnreachable = errors.New("identities are unreachable")

func token(role identity.Role, subject string, expires int64) string {
	return fmt.Sprintf("%s/%s/%d", role, subject, expires)
}

func (i *fakeIdentity) Verify(_ context.Context, token string) (identity.Claims, error) {
	if token == "unreachable" {
		return identity.Claims{}, errUnreachable
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

func (i *fakeIdentity) Ensure(_ context.Context, claims identity.Claims) (identity.Player, error) {
	if i.ensureMayReturn != nil {
		<-i.ensureMayReturn
	}
	if claims.Subject == "poison" {
		panic("a secret")
	}
	return identity.Player{Game: claims.Game, ID: claims.Subject, Nickname: "Nick " + claims.Subject}, nil
}

// CheckHost refuses the host "erased", whom CheckActive does not refuse.
func (i *fakeIdentity) CheckHost(_ context.Context, claims identity.Claims) error {
	if claims.Subject == "erased" {
		return identity.ErrErased
	}
	return nil
}

// Seat implements lobby.Players.
func (i *fakeIdentity) Seat(_ context.Context, _, player string) (match.Seat, error) {
	return match.Seat{Player: player, Nickname: "Nick " + player}, nil
}

// fakeBank has any number of questions for every filter, except for the category
// "none", for which it has none. The first choice is right.
type fakeBank struct{}

func (fakeBank) Count(_ quiz.Source, filter quiz.Filter) int {
	if filter.Category == "none" {
		return 0
	}
	return 1000
}

func (fakeBank) Draw(_ quiz.Source, _ quiz.Filter, count int, _ func(string) bool) ([]quiz.DrawnQuestion, error) {
	questions := make([]quiz.DrawnQuestion, count)
	for i := range questions {
		questions[i].Question = &quiz.Question{
			ID: fmt.Sprint("q", i), Kind: quiz.Single, Lang: "en", Category: "test", Difficulty: quiz.Easy,
			Text: fmt.Sprint("Question ", i, "?"), Choices: []string{"yes", "no"}, RightIndexes: []int{0}, Explanation: "because",
		}
	}
	return questions, nil
}

// emptySeenStore is a lobby.SeenStore that stores nothing.
type emptySeenStore struct{}

func (emptySeenStore) SeenQuestions(context.Context, string, []string) (func(string) bool, error) {
	return nil, nil
}

func (emptySeenStore) AddSeen(context.Context, string, []string, []string) error { return nil }

// fakeArenas is an Arenas that records its calls and returns the error that a test sets; nil
// refuses nothing.
type fakeArenas struct {
	mu         sync.Mutex
	calls      []string
	result     func(ctx context.Context) error
	joined     protocol.ArenaJoined
	afterReply func()
}

func (a *fakeArenas) setResult(result func(context.Context) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.result = result
}

// takeCalls returns the calls since it was last called.
func (a *fakeArenas) takeCalls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls = nil
	return calls
}

func (a *fakeArenas) call(ctx context.Context, format string, args ...any) error {
	a.mu.Lock()
	a.calls = append(a.calls, fmt.Sprintf(format, args...))
	result := a.result
	a.mu.Unlock()
	if result == nil {
		return nil
	}
	return result(ctx)
}

func (a *fakeArenas) Join(ctx context.Context, request arena.JoinRequest) (protocol.ArenaJoined, func(), error) {
	err := a.call(ctx, "join %+v", request)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.afterReply == nil || err != nil {
		return a.joined, func() {}, err
	}
	return a.joined, a.afterReply, nil
}

func (a *fakeArenas) Leave(ctx context.Context, game, player, id string) error {
	return a.call(ctx, "leave %s %s %s", game, player, id)
}

func (a *fakeArenas) Start(ctx context.Context, game, caller, id string) error {
	return a.call(ctx, "start %s %s %s", game, caller, id)
}

func (a *fakeArenas) Close(ctx context.Context, game, caller, id string) error {
	return a.call(ctx, "close %s %s %s", game, caller, id)
}

func (a *fakeArenas) Lock(ctx context.Context, game, caller, id string) error {
	return a.call(ctx, "lock %s %s %s", game, caller, id)
}

func (a *fakeArenas) Next(ctx context.Context, game, caller string, next protocol.ArenaNext) error {
	return a.call(ctx, "next %s %s %+v", game, caller, next)
}

func (a *fakeArenas) Kick(ctx context.Context, game, caller string, kick protocol.ArenaKick) error {
	return a.call(ctx, "kick %s %s %+v", game, caller, kick)
}

func (a *fakeArenas) Extend(ctx context.Context, game, caller string, extend protocol.ArenaExtend) (protocol.ArenaExtended, error) {
	err := a.call(ctx, "extend %s %s %+v", game, caller, extend)
	return protocol.ArenaExtended{Extra: []protocol.ExtraTime{{Player: "p", Nickname: "Ada", Percent: 50}}}, err
}
