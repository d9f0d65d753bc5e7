package main

import (
	"testing"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/loadtest/checker"
	player "laststand/loadtest/players"
)

// defaultLockoutConfig has the default rules of arenas, with shorter pauses.
const defaultLockoutConfig = `
games:
  demo:
    arena: {time_limit_ms: 60000, countdown_ms: 0, reveal_ms: 100}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0}
`

// By default only the first answer of a team within two seconds counts. Six guests of one team
// who each choose another option do not win every question.
func TestATeamCannotSubmitAllChoices(t *testing.T) {
	t.Parallel()
	const guests, questions = 6, 7
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, defaultLockoutConfig)})
	owner := newGuests(t, []string{node.url}, 1)[0]
	created := createArena(t, node.url, owner.Token, protocol.NewArena{
		Mode: "buzzer", Name: "Spread", Pace: "host", Questions: protocol.ArenaQuestions{IDs: singleChoiceIDs(t, questions)},
		Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
	})
	host := joinArena(t, node.url, owner, protocol.ArenaJoin{Code: created.Code, As: "host"})
	var reds []*matchClient
	for _, g := range newGuests(t, []string{node.url}, guests) {
		reds = append(reds, joinArena(t, node.url, g, protocol.ArenaJoin{Code: created.Code, Team: "red"}))
	}
	joinArena(t, node.url, newGuests(t, []string{node.url}, 1)[0], protocol.ArenaJoin{Code: created.Code, Team: "blue"})
	host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: created.ArenaID})
	sendNext := func(after int) {
		host.mustRequest(t, protocol.TypeArenaNext, protocol.ArenaNext{ArenaID: created.ArenaID, After: after})
	}
	for q := range questions {
		sendNext(q - 1)
		if accepted := answerAllChoices(t, reds, q); accepted != 1 {
			t.Errorf("question %d: %d answers of the team were accepted within 2 s, want 1", q, accepted)
		}
		sendNext(q) // closes the question; after a right answer it opens the next one
	}
}

// answerAllChoices lets each player of a team choose another option of a question, and returns
// how many answers were accepted.
func answerAllChoices(t *testing.T, team []*matchClient, question int) (accepted int) {
	t.Helper()
	asked := make([]checker.Frame, len(team))
	for i, c := range team {
		asked[i] = c.readUntilPush(t, protocol.TypeQuestion)
	}
	for i, c := range team {
		var q protocol.Question
		readData(t, asked[i], &q)
		choice := i % len(q.Choices)
		answer := protocol.Answer{Match: asked[i].Match, Question: &question, Given: protocol.Given{Choice: &choice}}
		if _, err := c.Send(protocol.TypeAnswer, answer); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range team {
		f := c.readReply(t)
		if f.Type == protocol.TypeAnswered {
			accepted++
			continue
		}
		var e protocol.Error
		readData(t, f, &e)
		if closed := e.Code == protocol.CodeQuestionClosed; !closed && (!player.IsLockedOut(e) || e.RetryAfterMS > 2000) {
			t.Errorf("question %d: refused with %s", question, f.Raw)
		}
	}
	return accepted
}

// readReply waits for the next reply. It checks the pushes before it like any others.
func (c *matchClient) readReply(t *testing.T) checker.Frame {
	t.Helper()
	return c.readUntil(t, "a reply", func(f checker.Frame) bool { return f.Re != nil })
}

// singleChoiceIDs returns ids of built-in questions with exactly one right choice.
func singleChoiceIDs(t *testing.T, count int) (ids []string) {
	t.Helper()
	b, err := quiz.BuiltinBank()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range b.Questions {
		if q.Kind == quiz.Single && len(ids) < count {
			ids = append(ids, q.ID)
		}
	}
	if len(ids) < count {
		t.Fatalf("the built-in bank has %d such questions", len(ids))
	}
	return ids
}
