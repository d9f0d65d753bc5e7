package ws

import (
	"fmt"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

func shortDuels(_ *Config, d *lobby.DuelSettings) { d.Questions, d.LimitMS = 2, 60_000 }

// In 200 duels both players answer immediately. Each reply comes before the push that it
// causes, numbers have no gap, and both see the same bytes. Only a few duels run at
// the same time: the embedded Redis runs one script at a time. On an overloaded machine a
// script takes some 50 ms, and more callers would exceed their timeout of 2 s.
func TestManyDuelsRunWithoutGaps(t *testing.T) {
	n := startParallel(t, shortDuels)
	const duels, concurrentDuels = 200, 4
	duelNumbers := make(chan int)
	var workers []func()
	for range concurrentDuels {
		workers = append(workers, func() {
			for i := range duelNumbers {
				playerA, playerB := n.startDuel(fmt.Sprint("d", i))
				runConcurrently(func() { playerA.play(nil) }, func() { playerB.play(nil) })
				n.checkSameFrames(playerA, playerB, 2)
				for _, p := range []*player{playerA, playerB} {
					if len(p.answeredQuestions) != 2 {
						t.Errorf("%s: %d answers got a reply", p.name, len(p.answeredQuestions))
					}
					p.disconnect()
				}
			}
		})
	}
	go func() { // ends when all duels have started
		defer close(duelNumbers)
		for i := range duels {
			duelNumbers <- i
		}
	}()
	runConcurrently(workers...)
}

func TestAnswersAreAcceptedOnce(t *testing.T) {
	n := startParallel(t)
	playerA, playerB := n.startDuel("d")
	matchID := playerA.expectFrame(protocol.TypeMatchFound).Match
	answer := func(question, choice int) {
		t.Helper()
		playerA.sendRequest(protocol.TypeAnswer, map[string]any{"match": matchID, "question": question, "choice": choice})
	}
	playerA.expectFrame(protocol.TypeQuestion)
	answer(1, 0)
	playerA.expectError(protocol.CodeQuestionNotOpen)
	answer(7, 0)
	playerA.expectError(protocol.CodeBadRequest)
	answer(0, 9)
	playerA.expectError(protocol.CodeInvalidAnswer)
	answer(0, 1)
	first := playerA.expectReply(protocol.TypeAnswered)
	playerA.expectFrame(protocol.TypeAnswerSeen)
	answer(0, 1)
	if repeated := playerA.expectReply(protocol.TypeAnswered); string(repeated.Data) != string(first.Data) {
		t.Errorf("%s, first reply %s", repeated.raw, first.raw)
	}
	answer(0, 0)
	if e := playerA.expectError(protocol.CodeDuplicateAnswer); e.Accepted == nil || string(e.Accepted.Given) != `{"choice":1}` {
		t.Errorf("accepted %+v", e.Accepted)
	}
	playerB.readUntil(protocol.TypeQuestion)
	playerB.sendRequest(protocol.TypeAnswer, map[string]any{"match": matchID, "question": 0, "choice": 0})
	playerB.readUntil(protocol.TypeAnswered)
	playerA.readUntil(protocol.TypeQuestionClosed)
	answer(0, 1)
	if repeated := playerA.readUntil(protocol.TypeAnswered); string(repeated.Data) != string(first.Data) {
		t.Errorf("after the close %s, first reply %s", repeated.raw, first.raw)
	}
	playerA.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
	if e := playerA.checkError(playerA.readUntilReply(), protocol.CodeAlreadyPlaying); e.Match != matchID {
		t.Errorf("playing %q, not %q", e.Match, matchID)
	}
}

// The leaving player gets the reply before the match is over, and the other player gets
// the end of the match.
func TestLeavingMatchForfeitsIt(t *testing.T) {
	n := startParallel(t)
	playerA, playerB := n.startDuel("d")
	matchID := playerA.expectFrame(protocol.TypeMatchFound).Match
	playerA.expectFrame(protocol.TypeQuestion)
	playerA.request(protocol.TypeMatchLeave, protocol.MatchLeave{Match: matchID}, protocol.TypeMatchLeft)
	var over protocol.MatchOver
	playerA.expectFrame(protocol.TypeMatchOver).decodeInto(t, &over)
	if over.Reason != "forfeit" || over.Winner != playerB.name {
		t.Errorf("over: %+v", over)
	}
	playerB.readUntil(protocol.TypeMatchOver).decodeInto(t, &over)
	if over.Winner != playerB.name {
		t.Errorf("over for the other: %+v", over)
	}
	playerA.sendRequest(protocol.TypeMatchLeave, protocol.MatchLeave{Match: matchID}) // leaving once more changes nothing
	playerA.expectReply(protocol.TypeMatchLeft)
}

// A client can ask for the state at any time, and gets no push twice.
func TestMatchSyncReturnsTheState(t *testing.T) {
	n := startParallel(t)
	playerA, _ := n.startDuel("d")
	found := playerA.expectFrame(protocol.TypeMatchFound)
	question := playerA.expectFrame(protocol.TypeQuestion)
	var state protocol.MatchState
	playerA.request(protocol.TypeMatchSync, protocol.Resume{Match: found.Match, Seq: 2}, protocol.TypeMatchState).decodeInto(t, &state)
	if state.Seq != 2 || state.Phase != "open" || state.Question == nil || state.Question.Question != 0 || state.YourAnswer != nil {
		t.Errorf("state %+v", state)
	}
	playerA.request(protocol.TypeAnswer, map[string]any{"match": found.Match, "question": 0, "choice": 0}, protocol.TypeAnswered)
	seen := playerA.expectFrame(protocol.TypeAnswerSeen)
	playerA.request(protocol.TypeMatchSync, protocol.Resume{Match: found.Match}, protocol.TypeMatchState).decodeInto(t, &state)
	if state.Seq != 3 || state.YourAnswer == nil || state.YourAnswer.Question != 0 || state.Own.Score != 0 {
		t.Errorf("state %+v", state)
	}
	playerA.expectFrames([][]byte{found.raw, question.raw, seen.raw})
	playerA.expectPong()
}

// A bot plays if no opponent joins.
func TestBotPlaysIfNoOpponentJoins(t *testing.T) {
	n := startParallel(t, func(_ *Config, d *lobby.DuelSettings) { d.Questions, d.LimitMS = 1, 300 })
	c := n.connectPlayer("ada")
	c.request(protocol.TypeDuelJoin, map[string]any{"bot_after_ms": 1}, protocol.TypeDuelQueued)
	var found protocol.MatchFound
	c.expectFrame(protocol.TypeMatchFound).decodeInto(t, &found)
	if len(found.Seats) != 2 || found.Seats[0].Bot == found.Seats[1].Bot {
		t.Errorf("seats %+v", found.Seats)
	}
	c.readUntil(protocol.TypeMatchOver)
}
