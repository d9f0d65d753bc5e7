package main

import (
	"testing"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/quiz/bank"
	"laststand/loadtest/player"
)

// spreadRules are the default rules of arenas, but for pauses.
const spreadRules = `
games:
  demo:
    arena: {time_limit_ms: 60000, countdown_ms: 0, reveal_ms: 100}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0}
`

// By default only the first answer of a team counts within two seconds: six
// guests of one team that each choose another option do not win every question.
func TestATeamCannotSpreadOverAllChoices(t *testing.T) {
	t.Parallel()
	const guests, questions = 6, 7
	dir := t.TempDir()
	n := startNode(t, cli{Data: &dir, Config: configFile(t, spreadRules)})
	owner := newGuests(t, []string{n.url}, 1)[0]
	made := makeArena(t, n.url, owner.Token, protocol.NewArena{
		Mode: "buzzer", Name: "Spread", Pace: "host", Questions: protocol.ArenaQuestions{IDs: singles(t, questions)},
		Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
	})
	host := seatOf(t, n.url, owner, protocol.ArenaJoin{Code: made.Code, As: "host"})
	var reds []*contestant
	for _, g := range newGuests(t, []string{n.url}, guests) {
		reds = append(reds, seatOf(t, n.url, g, protocol.ArenaJoin{Code: made.Code, Team: "red"}))
	}
	seatOf(t, n.url, newGuests(t, []string{n.url}, 1)[0], protocol.ArenaJoin{Code: made.Code, Team: "blue"})
	host.must(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID})
	next := func(after int) {
		host.must(t, protocol.TypeArenaNext, protocol.ArenaNext{ArenaID: made.ArenaID, After: after})
	}
	for q := range questions {
		next(q - 1)
		if accepted := spread(t, reds, q); accepted != 1 {
			t.Errorf("question %d: %d answers of the team were accepted at once, want 1", q, accepted)
		}
		next(q) // closes it; where the one answer was right it opens the next one
	}
}

// spread has each of a team choose another option of a question, and counts the
// answers that were accepted.
func spread(t *testing.T, team []*contestant, question int) (accepted int) {
	t.Helper()
	asked := make([]player.Frame, len(team))
	for i, c := range team {
		asked[i] = c.until(t, protocol.TypeQuestion)
	}
	for i, c := range team {
		var q protocol.Question
		read(t, asked[i], &q)
		choice := i % len(q.Choices)
		answer := protocol.Answer{Match: asked[i].Match, Question: &question, Given: protocol.Given{Choice: &choice}}
		if _, err := c.Send(protocol.TypeAnswer, answer); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range team {
		f := c.nextReply(t)
		if f.Type == protocol.TypeAnswered {
			accepted++
			continue
		}
		var e protocol.Error
		read(t, f, &e)
		if closed := e.Code == protocol.CodeQuestionClosed; !closed && (!player.LockedOut(e) || e.RetryAfterMS > 2000) {
			t.Errorf("question %d: refused with %s", question, f.Raw)
		}
	}
	return accepted
}

// nextReply waits for the next reply. Pushes before it are checked like any others.
func (c *contestant) nextReply(t *testing.T) player.Frame {
	t.Helper()
	return c.await(t, "a reply", func(f player.Frame) bool { return f.Re != nil })
}

// singles are ids of built-in questions of which one choice is right.
func singles(t *testing.T, n int) (ids []string) {
	t.Helper()
	b, err := bank.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range b.Questions {
		if q.Kind == quiz.Single && len(ids) < n {
			ids = append(ids, q.ID)
		}
	}
	if len(ids) < n {
		t.Fatalf("the built-in bank has %d such questions", len(ids))
	}
	return ids
}
