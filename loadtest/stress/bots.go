package stress

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// cheat runs bots that play duels of the arcade against each other, and try everything
// that could be of advantage. The checker judges their matches.
func cheat(ctx context.Context, a *attacker) {
	found := &checker.Checker{LimitMS: arcadeLimitMS, Leavers: true, Strangers: true}
	a.repeat(ctx, 24&^1, 0, func(w *worker, _ int) { // an even number: each needs an opponent
		id := fmt.Sprintf("bot_%d_%s", w.number, rand.Text()[:6])
		(&bot{worker: w, token: arcadeToken(id), view: found.Player(id)}).play()
	})
	found.JudgeRest()
	listed, _ := found.Violations.All()
	for _, line := range listed {
		a.violation("%s", line)
	}
}

// finalWait is how long, beyond the time of the order, a bot still reads the match that
// it is in.
const finalWait = 3 * time.Second

// bot is one player who cheats.
type bot struct {
	*worker
	token string
	view  *checker.View

	conn *players.Player
	seq  int64 // of the last push of the match
	sent map[int64]attempt
}

// attempt is an answer that was sent.
type attempt struct {
	protocol.Answer
	isAsked bool // to a question of the bot's own match that the bot has received
}

// play plays duels over its own connections until the server closes it, or the order is
// over.
func (b *bot) play() {
	if b.conn = b.greet(b.token); b.conn == nil {
		return
	}
	defer func() { _ = b.conn.Close() }() // whichever connection it is by then
	b.join()
	for b.view.IsPlaying() || time.Now().Before(b.until) {
		f, err := b.conn.Read(min(time.Until(b.until)+finalWait, callTimeout))
		if !b.noteFrame(f, err) || !b.receive(f) {
			return
		}
	}
}

func (b *bot) join() {
	b.seq, b.sent = 0, make(map[int64]attempt)
	b.request(protocol.TypeDuelJoin, protocol.DuelJoin{})
}

// request sends a request, and returns its id. The read finds a lost connection.
func (b *bot) request(kind string, data any) (id int64) {
	id, _ = b.conn.Send(kind, data)
	return id
}

// try sends an answer to a question of a match, which may not be the bot's own.
func (b *bot) try(match string, question int, given protocol.Given, isAsked bool) {
	a := attempt{protocol.Answer{Match: match, Question: &question, Given: given}, isAsked}
	if match == b.view.Match() {
		b.view.Sent(a.Answer)
	}
	b.sent[b.request(protocol.TypeAnswer, a.Answer)] = a
}

// receive handles a frame. It returns false if the bot stops.
func (b *bot) receive(f checker.Frame) bool {
	if f.Seq > 0 && f.Seq != b.seq+1 { // the reply to match.sync repeats it
		return true
	}
	b.seq = max(b.seq, f.Seq)
	err := b.view.Push(f, 0)
	switch f.Type {
	case protocol.TypeMatchFound:
		b.tryElsewhere()
	case protocol.TypeQuestion:
		b.answer()
	case protocol.TypeAnswered:
		err = b.answered(f)
	case protocol.TypeError:
		if f.Re != nil && b.sent[*f.Re].isAsked {
			err = b.view.Refused(b.sent[*f.Re].Answer, decodeError(f), 1)
		}
	case protocol.TypeMatchOver:
		b.view.Finish()
		if !b.next() {
			return false
		}
		b.join()
	}
	b.violationIf(err != nil, "%v", err)
	return true
}

// blindAnswer is the answer to a question that the bot has not received.
var blindAnswer = players.ArbitraryAnswer(protocol.Question{Kind: "single"})

// tryElsewhere answers questions that the bot has not received: of its own match, of no
// match, and of a match of honest players.
func (b *bot) tryElsewhere() {
	for _, question := range []int{0, 1, -1, 99} {
		b.try(b.view.Match(), question, blindAnswer, false)
	}
	b.try("m_nobody", 0, blindAnswer, false)
	if b.Match != "" {
		b.try(b.Match, 0, blindAnswer, false)
	}
}

// answer answers the newest question at once. It also sends the same answer again, a
// different answer, and an answer to the next question. Sometimes it uses two
// connections.
func (b *bot) answer() {
	q, _ := b.view.Question()
	match := b.view.Match()
	given := players.ArbitraryAnswer(q)
	b.try(match, q.Question, given, true)
	b.try(match, q.Question, given, true)
	if q.Question%3 == 1 {
		b.changeConnection()
	}
	b.try(match, q.Question, players.OtherAnswer(q, given), true)
	b.try(match, q.Question+1, blindAnswer, false)
}

// answered checks an accepted answer.
func (b *bot) answered(f checker.Frame) error {
	a, ok := b.sent[*f.Re]
	if !ok {
		return nil // of a match that is over
	}
	if a.Match != b.view.Match() || *a.Question < 0 {
		b.violation("an answer to question %d of %s was accepted: %s", *a.Question, a.Match, f.Data)
		return nil
	}
	_, err := b.view.Accepted(a.Answer, f.Data)
	return err
}

// changeConnection opens a second connection while answers of the first are on the way,
// and continues over the new one. It first reads the replies on the first connection.
func (b *bot) changeConnection() {
	second := b.greet(b.token)
	if second == nil {
		return
	}
	first := b.conn
	b.conn = second
	for {
		f, err := first.Read(time.Second)
		if !b.noteFrame(f, err) || f.Re != nil && !b.receive(f) {
			break
		}
	}
	_ = first.Close()
	b.request(protocol.TypeMatchSync, protocol.Resume{Match: b.view.Match(), Seq: b.seq})
}
