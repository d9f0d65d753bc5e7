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
	name  string
	match string
	log   [][]byte // by number, from 1
	over  bool

	sentAnswers       map[int64]int // questions by the id of the answer sent
	answeredQuestions map[int]bool
	lossy             bool // the player is disconnected at times, and replies may be lost

	unnumbered func(frame) // if set, called with pushes without a number
}

func newPlayer(c *client, name string) *player {
	return &player{client: c, name: name, sentAnswers: map[int64]int{}, answeredQuestions: map[int]bool{}}
}

// join asks for a duel against any player with the same category.
func (p *player) join(category string) {
	p.Helper()
	p.sendRequest(protocol.TypeDuelJoin, map[string]any{"category": category, "bot_after_ms": 0})
	p.expectReply(protocol.TypeDuelQueued)
}

// play handles frames until the match is over, the connection ends, or stop returns
// true after a frame.
func (p *player) play(stop func(frame) bool) {
	p.Helper()
	for !p.over {
		f, err := p.read()
		if err != nil {
			if !p.lossy {
				p.fail("%s: %v", p.name, err)
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
		if p.unnumbered != nil {
			p.unnumbered(f)
		}
		return
	}
	if f.Seq != int64(len(p.log))+1 {
		p.fail("%s: %s after number %d", p.name, f.describe(), len(p.log))
	}
	if p.match == "" {
		p.match = f.Match
	}
	if f.Match != p.match {
		p.fail("%s: a frame of match %s in match %s", p.name, f.Match, p.match)
	}
	p.log = append(p.log, f.raw)
	p.handlePush(f)
}

// handlePush handles a numbered push: it answers a question, and checks the other pushes.
func (p *player) handlePush(f frame) {
	p.Helper()
	switch f.Type {
	case protocol.TypeQuestion:
		var q protocol.Question
		f.decodeInto(p.T, &q)
		p.answer(q.Question)
	case protocol.TypeAnswerSeen:
		var seen protocol.AnswerSeen
		f.decodeInto(p.T, &seen)
		if seen.Player == p.name && !p.answeredQuestions[seen.Question] && !p.lossy {
			p.fail("%s: answer.seen of question %d before the reply to the answer", p.name, seen.Question)
		}
	case protocol.TypeMatchOver:
		p.over = true
	}
}

func (p *player) answer(question int) {
	p.sendRequest(protocol.TypeAnswer, map[string]any{"match": p.match, "question": question, "choice": 0})
	p.sentAnswers[p.id] = question
}

// checkAnswered checks the reply to an answer.
func (p *player) checkAnswered(f frame) {
	p.Helper()
	if p.lossy && f.Type == protocol.TypeError {
		p.checkError(f, protocol.CodeQuestionClosed) // the server had received an answer that seemed lost
		return
	}
	question, ok := p.sentAnswers[*f.Re]
	if !ok || f.Type != protocol.TypeAnswered {
		p.fail("%s: %s", p.name, f.raw)
	}
	var a protocol.Answered
	f.decodeInto(p.T, &a)
	if a.Question != question {
		p.fail("%s: %s for question %d", p.name, f.raw, question)
	}
	p.answeredQuestions[question] = true
}

// duel connects two players who play each other.
func (n *node) duel(name string) (a, b *player) {
	n.Helper()
	a, b = newPlayer(n.connectPlayer(name+".a"), name+".a"), newPlayer(n.connectPlayer(name+".b"), name+".b")
	a.join(name)
	b.join(name)
	return a, b
}

// checkSameFrames checks that both have seen a whole match, in the same bytes. A
// stalled machine adds a push that extends the question.
func (n *node) checkSameFrames(a, b *player, questions int) {
	n.Helper()
	if want := 2 + 4*questions + extensionCount(a.log); len(a.log) != want || len(b.log) != want {
		n.Errorf("%s saw %d frames, %s %d, want %d", a.name, len(a.log), b.name, len(b.log), want)
		return
	}
	for i := range a.log {
		if !bytes.Equal(a.log[i], b.log[i]) {
			n.Errorf("number %d differs:\n%s\n%s", i+1, a.log[i], b.log[i])
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
func runConcurrently(run ...func()) {
	var running sync.WaitGroup
	for _, f := range run {
		running.Go(f)
	}
	running.Wait()
}
