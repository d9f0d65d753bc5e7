package ws

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/quiz"
)

// people are an Identity whose tokens read ROLE/SUBJECT/EXPIRY, and the seats
// of its players.
type people struct{ ensured chan struct{} } // Ensure waits for it where it is set

var errPeople = errors.New("people are out of reach")

func token(role identity.Role, subject string, expires int64) string {
	return fmt.Sprintf("%s/%s/%d", role, subject, expires)
}

func (p *people) Verify(_ context.Context, token string) (identity.Claims, error) {
	if token == "unreachable" {
		return identity.Claims{}, errPeople
	}
	parts := strings.Split(token, "/")
	if len(parts) != 3 {
		return identity.Claims{}, identity.ErrTokenMalformed
	}
	expires, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return identity.Claims{}, identity.ErrTokenMalformed
	}
	return identity.Claims{Role: identity.Role(parts[0]), Subject: parts[1], Game: "demo", ExpiresAt: expires}, nil
}

func (p *people) Ensure(_ context.Context, c identity.Claims) (identity.Player, error) {
	if p.ensured != nil {
		<-p.ensured
	}
	return identity.Player{Game: c.Game, ID: c.Subject, Nickname: "Nick " + c.Subject}, nil
}

// Seat implements lobby.Players.
func (p *people) Seat(_ context.Context, _, player string) (match.Seat, error) {
	return match.Seat{Player: player, Nickname: "Nick " + player}, nil
}

// bank has as many questions of every wish as are asked for; the first choice
// is right. A wish for the category "none" is met by no question.
type bank struct{}

func (bank) Count(_ string, w lobby.Wish) int {
	if w.Category == "none" {
		return 0
	}
	return 1000
}

func (bank) Draw(_ string, _ lobby.Wish, count int, _ map[string]struct{}) ([]quiz.Question, error) {
	questions := make([]quiz.Question, count)
	for i := range questions {
		questions[i] = quiz.Question{
			ID: fmt.Sprint("q", i), Kind: quiz.Single, Lang: "en", Category: "test", Difficulty: quiz.Easy,
			Text: fmt.Sprint("Question ", i, "?"), Choices: []string{"yes", "no"}, Right: []int{0}, Explanation: "because",
		}
	}
	return questions, nil
}

// forgetful is a Memory that holds nothing.
type forgetful struct{}

func (forgetful) Seen(context.Context, string, []string) (map[string]struct{}, error) {
	return nil, nil
}

func (forgetful) Saw(context.Context, string, []string, []string) error { return nil }
