package attack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"laststand/internal/protocol"
)

// cheat runs bots that play duels of the arcade against each other, and try everything
// that could be of advantage.
func (a *attacker) cheat(ctx context.Context) {
	var bots sync.WaitGroup
	for worker := range min(a.Sockets, 24) &^ 1 { // an even number: each needs an opponent
		bots.Go(func() {
			for time.Now().Before(a.until) && ctx.Err() == nil {
				sub := fmt.Sprintf("bot_%d_%s", worker, rand.Text()[:6])
				(&bot{attacker: a, worker: worker, sub: sub, token: arcadeToken(sub)}).play(ctx)
			}
		})
	}
	bots.Wait()
}

// lastWords is how long, beyond the order's time, a bot still reads the match that it is
// in.
const lastWords = 3 * time.Second

// bot is one player who cheats.
type bot struct {
	*attacker
	worker     int
	sub, token string

	conn  *socket
	last  int64
	sent  map[int64]attempt // by id
	match string
	asked map[int]*asked // questions seen, by index
	early map[int]int64  // stamps of answers that were accepted before the bot saw the question
	score int64
}

// attempt is an answer that was sent.
type attempt struct {
	question int
	given    string // as JSON
	foreign  bool   // to a match of other players
}

// asked is a question and the answer of the bot that the server accepted.
type asked struct {
	protocol.Question
	accepted map[string]bool // by the given answer
	judged   bool
}

// play plays duels over its own connections until the server closes it, or the order is
// over.
func (b *bot) play(ctx context.Context) {
	if !b.next(ctx) {
		return
	}
	var err error
	if b.conn, err = b.greet(ctx, b.worker, b.token); err != nil {
		return
	}
	defer func() { _ = b.conn.Close() }() // whichever connection it is by then
	b.forget()
	b.send(protocol.TypeDuelJoin, protocol.DuelJoin{}, attempt{})
	for {
		f, err := b.conn.next(min(time.Until(b.until)+lastWords, callWithin))
		switch {
		case err == nil && f.Type != protocol.TypeError && f.closed == 0:
			b.take(ctx, f)
		case !b.checkReply(ctx, f, err):
			return
		}
		if b.match == "" && time.Now().After(b.until) {
			return
		}
	}
}

func (b *bot) forget() {
	b.match, b.score, b.sent, b.asked, b.early = "", 0, map[int64]attempt{}, map[int]*asked{}, map[int]int64{}
}

func (b *bot) send(kind string, data any, what attempt) {
	b.last++
	raw, _ := json.Marshal(data) // our own messages always encode
	b.sent[b.last] = what
	_ = b.conn.text(`{"id":` + strconv.FormatInt(100+b.last, 10) + `,"type":"` + kind + `","data":` + string(raw) + `}`)
}

// try sends an answer.
func (b *bot) try(match string, question int, given protocol.Given) {
	raw, _ := json.Marshal(given) // our own answers always encode
	b.send(protocol.TypeAnswer, protocol.Answer{Match: match, Question: &question, Given: given}, attempt{question, string(raw), match != b.match})
}

func (b *bot) take(ctx context.Context, f receivedFrame) {
	switch f.Type {
	case protocol.TypeMatchFound:
		b.match = f.Match
		for _, question := range []int{0, 1, -1, 99} {
			b.try(b.match, question, randomAnswer("single", 0))
		}
		b.try("m_nobody", 0, randomAnswer("single", 0))
		if b.Match != "" {
			b.try(b.Match, 0, randomAnswer("single", 0))
		}
	case protocol.TypeQuestion:
		var q protocol.Question
		if json.Unmarshal(f.Data, &q) == nil {
			b.answer(ctx, q)
		}
	case protocol.TypeAnswered:
		b.answered(f)
	case protocol.TypeQuestionClosed:
		b.judge(f)
	case protocol.TypeMatchOver:
		b.over(f)
		b.forget()
		if b.next(ctx) && time.Now().Before(b.until) {
			b.send(protocol.TypeDuelJoin, protocol.DuelJoin{}, attempt{})
		}
	}
}

// answer answers a question at once. It also sends a second answer, a different answer,
// and answers to later questions. Sometimes it uses two connections.
func (b *bot) answer(ctx context.Context, q protocol.Question) {
	if b.asked[q.Question] != nil { // the bot had it from a sync
		return
	}
	b.asked[q.Question] = &asked{q, map[string]bool{}, false}
	if at, early := b.early[q.Question]; early && at < q.OpensAt {
		b.addViolation("an answer of %d was accepted %d ms before question %d of %s was open", at, q.OpensAt-at, q.Question, b.match)
	}
	b.try(b.match, q.Question, randomAnswer(q.Kind, 0))
	b.try(b.match, q.Question, randomAnswer(q.Kind, 0))
	if q.Question%3 == 1 {
		b.doubleUp(ctx)
	}
	b.try(b.match, q.Question, randomAnswer(q.Kind, 1))
	b.try(b.match, q.Question+1, randomAnswer("single", 0))
}

// doubleUp opens a second connection while answers of the first are on the way, and
// continues over the new one. It still reads what the first connection receives.
func (b *bot) doubleUp(ctx context.Context) {
	second, err := b.greet(ctx, b.worker, b.token)
	if err != nil {
		return
	}
	first := b.conn
	b.conn = second
	for {
		f, err := first.next(time.Second)
		if f.Type == protocol.TypeAnswered && err == nil {
			b.answered(f)
			continue
		}
		if !b.checkReply(ctx, f, err) {
			break
		}
	}
	_ = first.Close()
	b.send(protocol.TypeMatchSync, protocol.Resume{Match: b.match}, attempt{})
}

// randomAnswer returns the nth guess at a question of the given kind.
func randomAnswer(kind string, n int) protocol.Given {
	switch kind {
	case "single", "boolean":
		return protocol.Given{Choice: &n}
	case "multiple":
		return protocol.Given{Choices: []int{n}}
	case "number":
		return protocol.Given{Value: json.RawMessage(strconv.Itoa(42 + n))}
	}
	return protocol.Given{Value: json.RawMessage(strconv.Quote("guess " + strconv.Itoa(n)))}
}
