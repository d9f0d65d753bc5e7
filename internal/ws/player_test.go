package ws

import (
	"bytes"
	"sync"

	"laststand/internal/protocol"
)

// player plays a duel to its end: it answers each question immediately and stores the
// numbered frames.
type player struct {
	*client
	name     string
	match    string
	frameLog [][]byte // by number, from 1
	over     bool

	sentAnswers       map[int64]int // questions by the id of the answer sent
	answeredQuestions map[int]bool
	mayLoseReplies    bool // the player is disconnected at times, and replies may be lost

	onUnnumbered func(frame) // if set, called with pushes without a number
}

func newPlayer(c *client, name string) *player {
	return &player{client: c, name: name, sentAnswers: map[int64]int{}, answeredQuestions: map[int]bool{}}
}

// joinDuel asks for a duel against any player with the same category.
func (p *player) joinDuel(category string) {
	p.Helper()
	p.request(protocol.TypeDuelJoin, map[string]any{"category": category, "bot_after_ms": 0}, protocol.TypeDuelQueued)
}

// play handles frames until the match is over, the connection ends, or stop returns
// true after a frame.
func (p *player) play(stop func(frame) bool) {
	p.Helper()
	for !p.over {
		f, err := p.read()
		if err != nil {
			if !p.mayLoseReplies {
				p.failNow("%s: %v", p.name, err)
			}
			return
		}
		p.handle(f)
		if stop != nil && stop(f) {
			return
		}
	}
}

func (p *player) handle(f frame) {
	p.Helper()
	if f.Re != nil {
		p.checkAnswered(f)
		return
	}
	if f.Seq == 0 {
		if p.onUnnumbered != nil {
			p.onUnnumbered(f)
		}
		return
	}
	if f.Seq != int64(len(p.frameLog))+1 {
		p.failNow("%s: %s after number %d", p.name, f.label(), len(p.frameLog))
	}
	if p.match == "" {
		p.match = f.Match
	}
	if f.Match != p.match {
		p.failNow("%s: a frame of match %s in match %s", p.name, f.Match, p.match)
	}
	p.frameLog = append(p.frameLog, f.raw)
	p.handlePush(f)
}

// handlePush handles a numbered push: it answers a question, and checks the other pushes.
func (p *player) handlePush(f frame) {
	p.Helper()
	switch f.Type {
	case protocol.TypeQuestion:
		var question protocol.Question
		f.decodeInto(p.T, &question)
		p.answer(question.Question)
	case protocol.TypeAnswerSeen:
		var seen protocol.AnswerSeen
		f.decodeInto(p.T, &seen)
		if seen.Player == p.name && !p.answeredQuestions[seen.Question] && !p.mayLoseReplies {
			p.failNow("%s: answer.seen of question %d before the reply to the answer", p.name, seen.Question)
		}
	case protocol.TypeMatchOver:
		p.over = true
	}
}

func (p *player) answer(question int) {
	p.sendRequest(protocol.TypeAnswer, map[string]any{"match": p.match, "question": question, "choice": 0})
	p.sentAnswers[p.lastRequestID] = question
}

// checkAnswered checks the reply to an answer.
func (p *player) checkAnswered(f frame) {
	p.Helper()
	if p.mayLoseReplies && f.Type == protocol.TypeError {
		p.checkError(f, protocol.CodeQuestionClosed) // the server had received an answer that seemed lost
		return
	}
	question, ok := p.sentAnswers[*f.Re]
	if !ok || f.Type != protocol.TypeAnswered {
		p.failNow("%s: %s", p.name, f.raw)
	}
	var answered protocol.Answered
	f.decodeInto(p.T, &answered)
	if answered.Question != question {
		p.failNow("%s: %s for question %d", p.name, f.raw, question)
	}
	p.answeredQuestions[question] = true
}

// startDuel connects two players who play each other.
func (n *node) startDuel(name string) (playerA, playerB *player) {
	n.Helper()
	playerA, playerB = newPlayer(n.connectPlayer(name+".a"), name+".a"), newPlayer(n.connectPlayer(name+".b"), name+".b")
	playerA.joinDuel(name)
	playerB.joinDuel(name)
	return playerA, playerB
}

// startFoundDuel starts a duel whose players know of their match.
func (n *node) startFoundDuel() (playerA, playerB *player, matchID string) {
	n.Helper()
	playerA, playerB = n.startDuel("d")
	matchID = playerA.expectFrame(protocol.TypeMatchFound).Match
	playerB.expectFrame(protocol.TypeMatchFound)
	return playerA, playerB, matchID
}

// checkSameFrames checks that both have seen a whole match, in the same bytes. A
// stalled machine adds a push that extends the question.
func (n *node) checkSameFrames(playerA, playerB *player, questions int) {
	n.Helper()
	if want := 2 + 4*questions + extensionCount(playerA.frameLog); len(playerA.frameLog) != want || len(playerB.frameLog) != want {
		n.Errorf("%s saw %d frames, %s %d, want %d", playerA.name, len(playerA.frameLog), playerB.name, len(playerB.frameLog), want)
		return
	}
	for i := range playerA.frameLog {
		if !bytes.Equal(playerA.frameLog[i], playerB.frameLog[i]) {
			n.Errorf("number %d differs:\n%s\n%s", i+1, playerA.frameLog[i], playerB.frameLog[i])
		}
	}
}

func extensionCount(log [][]byte) (count int) {
	for _, frame := range log {
		if bytes.Contains(frame, []byte(`"type":"`+protocol.TypeQuestionExtended+`"`)) {
			count++
		}
	}
	return count
}

// runConcurrently runs all functions at the same time and waits for them.
func runConcurrently(functions ...func()) {
	var running sync.WaitGroup
	for _, function := range functions {
		running.Go(function)
	}
	running.Wait()
}
