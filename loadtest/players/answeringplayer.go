package players

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// AnsweringPlayer is a player who answers every question in the same way. It shares the
// machine with the server that it measures, so it decodes no more of a frame than it must.
// It is not safe for concurrent use.
type AnsweringPlayer struct {
	*Player
	AnswerJSON string        // the value of every answer
	MaxDelay   *atomic.Int64 // nanoseconds; an answer follows its question at a random time within them
	IsBuzzer   bool          // an answer after another player has closed the question is a reply, not an error
	PlaysDuels bool          // join a duel at the start, and the next one after each match
	OnSeen     func()        // is called with each push about an answer; may be nil

	// OnReply is called with each reply to an answer. The latency is the time since the answer. isFirst
	// says that it was the first right one.
	OnReply func(latency time.Duration, isFirst bool)

	data    []byte              // reused: of the newest answer
	sentAt  map[int64]time.Time // when each answer without a reply was sent, by request id
	lastSeq int64               // of the last push of the match
}

// Play answers until the match is over, or until the connection ends if it plays duels. It
// returns an error if the timeout passes, an answer is refused or a push is missing.
func (p *AnsweringPlayer) Play(timeout time.Duration) (err error) {
	defer testenv.Recover(&err)
	p.sentAt = make(map[int64]time.Time)
	testenv.MustDo(p.conn.SetReadDeadline(time.Now().Add(timeout)))
	for {
		if p.PlaysDuels {
			p.joinDuel()
		}
		for isOver := false; !isOver; {
			isOver = p.handle(testenv.Must(p.readReused()))
		}
		if !p.PlaysDuels {
			return nil
		}
	}
}

func (p *AnsweringPlayer) joinDuel() {
	p.lastSeq = 0
	testenv.Must(p.SendJSON(protocol.TypeDuelJoin, []byte(`{}`)))
}

// handle handles a frame, and returns whether it is the last one of the match.
func (p *AnsweringPlayer) handle(frame []byte) (isOver bool) {
	if bytes.HasPrefix(frame, []byte(`{"re":`)) {
		p.handleReply(frame)
		return false
	}
	envelope, _, _ := bytes.Cut(frame, []byte(`,"data":`))
	if seq, ok := ParseNumber(TextAfter(envelope, `"seq":`)); ok {
		p.lastSeq++
		checker.BreachIf(seq != p.lastSeq, "push %d came where %d was due: %s", seq, p.lastSeq, frame)
	}
	switch {
	case bytes.HasPrefix(frame, []byte(`{"type":"`+protocol.TypeQuestion+`",`)):
		p.answer(frame)
	case p.OnSeen != nil && bytes.HasPrefix(frame, []byte(`{"type":"`+protocol.TypeAnswerSeen+`",`)):
		p.OnSeen()
	}
	return bytes.HasPrefix(frame, []byte(`{"type":"`+protocol.TypeMatchOver+`",`))
}

// answer answers a question after the delay.
func (p *AnsweringPlayer) answer(frame []byte) {
	match, _, ok := bytes.Cut(TextAfter(frame, `"match":"`), []byte(`"`))
	question, isNumber := ParseNumber(TextAfter(frame, `"data":{"question":`))
	testenv.FailIf(!ok || !isNumber, "the question has no match or number: %s", frame)
	p.data = append(append(append(p.data[:0], `{"match":"`...), match...), `","question":`...)
	p.data = append(append(append(strconv.AppendInt(p.data, question, 10), `,"value":`...), p.AnswerJSON...), '}')
	if delay := p.MaxDelay.Load(); delay > 0 {
		time.Sleep(time.Duration(rand.Int64N(delay))) //nolint:gosec // load is no secret
	}
	sentAt := time.Now()
	p.sentAt[testenv.Must(p.SendJSON(protocol.TypeAnswer, p.data))] = sentAt
}

// handleReply handles the reply to an answer or to a request to join. It joins again after a
// temporary refusal; any other refusal is an error, unless another player was first.
func (p *AnsweringPlayer) handleReply(frame []byte) {
	receivedAt := time.Now()
	id, ok := ParseNumber(TextAfter(frame, `{"re":`))
	testenv.FailIf(!ok, "the reply has no request id: %s", frame)
	sentAt, isAnswer := p.sentAt[id]
	delete(p.sentAt, id)
	if bytes.Contains(frame, []byte(`,"type":"`+protocol.TypeError+`",`)) {
		var f struct{ Data protocol.Error }
		testenv.MustDo(json.Unmarshal(frame, &f))
		switch {
		case !isAnswer && (f.Data.Code == protocol.CodeUnavailable || f.Data.Code == protocol.CodeOverloaded):
			time.Sleep(max(time.Duration(f.Data.RetryAfterMS)*time.Millisecond, minRetryDelay))
			p.joinDuel()
		case !isAnswer || !p.IsBuzzer || f.Data.Code != protocol.CodeQuestionClosed:
			testenv.FailIf(true, "refused: %s", frame)
		}
	}
	if isAnswer {
		p.OnReply(receivedAt.Sub(sentAt), bytes.Contains(frame, []byte(`"first":true`)))
	}
}

// minRetryDelay is the shortest pause after a temporary refusal.
const minRetryDelay = 20 * time.Millisecond

// IsLockedOut says whether an answer was refused because the player's buzzer team has just
// answered wrong. The player may send it again after RetryAfterMS.
func IsLockedOut(e protocol.Error) bool {
	return e.Code == protocol.CodeQuestionNotOpen && e.RetryAfterMS > 0
}

// TextAfter returns the part of a frame that follows a text, empty if the text is missing.
func TextAfter(frame []byte, text string) []byte {
	_, rest, _ := bytes.Cut(frame, []byte(text))
	return rest
}

// ParseNumber parses the number at the start of a text.
func ParseNumber(text []byte) (n int64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n, ok = 10*n+int64(c-'0'), true
	}
	return n, ok
}
