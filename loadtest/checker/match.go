package checker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"laststand/internal/protocol"
)

// match is one match as all its clients see it. Clients use its methods concurrently.
// When the last client has finished, the judgement reads the fields without the lock.
type match struct {
	id     string
	mu     sync.Mutex
	hashes []uint64 // of the numbered pushes, from number 1
	newest []byte   // the newest push
	log    matchLog
	extra  int64            // most extra time of a player, in percent
	broken error            // why the pushes are no valid match; nil: they are valid so far
	parts  map[string]*part // by player

	finished int // parts whose clients have finished

	final  map[string]*totals // by player; nil before the match is judged
	counts bool               // for leaderboards
}

// locked reads something of a match that its clients change.
func locked[T any](m *match, read func(*match) T) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return read(m)
}

var hashSeed = maphash.MakeSeed()

// push records a numbered push, or compares it with the push that another client
// received under the same number.
func (m *match) push(f Frame) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, hash := int(f.Seq)-1, maphash.Bytes(hashSeed, f.Raw)
	switch {
	case n > len(m.hashes):
		return ContractError("push %d of %s came before push %d: %s", f.Seq, m.id, len(m.hashes)+1, f.Raw)
	case n < len(m.hashes) && m.hashes[n] != hash:
		return ContractError("push %d of %s differs from what another client received: %s", f.Seq, m.id, f.Raw)
	case n < len(m.hashes):
		return nil
	}
	m.hashes, m.newest = append(m.hashes, hash), f.Raw
	if m.broken == nil {
		if err := m.log.add(f.Type, f.Data); err != nil {
			m.broken = fmt.Errorf("push %d: %w: %s", f.Seq, err, f.Raw)
		}
	}
	return nil
}

func (m *match) part(player string) *part {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.parts[player]
	if p == nil {
		p = &part{player: player, answers: make(map[int]*answer), own: make(map[int]protocol.Own)}
		m.parts[player] = p
	}
	return p
}

// finish notes that a player's client has finished. It reports whether all players have.
func (m *match) finish(p *part) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.hasEnded = true
	m.finished++
	return m.finished == m.log.found.Players
}

// matchLog is a match, decoded from its numbered pushes.
type matchLog struct {
	hasFound bool
	found    protocol.MatchFound
	rounds   []*round
	over     *protocol.MatchOver
}

// round is one question of a match.
type round struct {
	asked    protocol.Question
	closesAt int64                    // includes the time that was given back
	seen     map[string]bool          // players whose answer.seen was pushed
	closed   *protocol.QuestionClosed // nil while the question is open
	right    CorrectAnswer
}

func (r *round) limitMS() int64 { return r.asked.ClosesAt - r.readsUntil() }

// closesAtFor is when a question closes for a player with extra time, in percent.
func (r *round) closesAtFor(extra int64) int64 { return r.closesAt + r.limitMS()*extra/100 }

// readsUntil is when a question accepts answers.
func (r *round) readsUntil() int64 { return *cmp.Or(r.asked.ReadsUntil, &r.asked.OpensAt) }

func (r *round) isExtended() bool { return r.closesAt > r.asked.ClosesAt }

// add decodes a push and checks its place in the match.
func (l *matchLog) add(kind string, data json.RawMessage) error {
	if l.hasFound == (kind == protocol.TypeMatchFound) {
		return fmt.Errorf("it is out of place")
	}
	switch kind {
	case protocol.TypeMatchFound:
		l.hasFound = true
		return json.Unmarshal(data, &l.found)
	case protocol.TypeQuestion:
		return l.open(data)
	case protocol.TypeMatchOver:
		return json.Unmarshal(data, &l.over)
	}
	r := l.openRound()
	if r == nil {
		return fmt.Errorf("no question is open")
	}
	return r.add(kind, data)
}

// round returns the question with an index, nil if it was not asked.
func (l *matchLog) round(index int) *round {
	if index < 0 || index >= len(l.rounds) {
		return nil
	}
	return l.rounds[index]
}

// openRound returns the open question, nil if none is open.
func (l *matchLog) openRound() *round {
	if n := len(l.rounds); n > 0 && l.rounds[n-1].closed == nil {
		return l.rounds[n-1]
	}
	return nil
}

func (l *matchLog) open(data json.RawMessage) error {
	r := &round{seen: make(map[string]bool)}
	if err := json.Unmarshal(data, &r.asked); err != nil {
		return err
	}
	r.closesAt = r.asked.ClosesAt
	if l.openRound() != nil || r.asked.Question != len(l.rounds) || r.asked.Of != l.found.Questions {
		return fmt.Errorf("question %d of %d is due", len(l.rounds), l.found.Questions)
	}
	l.rounds = append(l.rounds, r)
	return nil
}

// add decodes a push that belongs to the open question.
func (r *round) add(kind string, data json.RawMessage) error {
	push := struct {
		Question int
		Player   string
		ClosesAt int64 `json:"closes_at"`
	}{}
	if err := json.Unmarshal(data, &push); err != nil {
		return err
	}
	if push.Question != r.asked.Question {
		return fmt.Errorf("question %d is open", r.asked.Question)
	}
	switch kind {
	case protocol.TypeQuestionExtended:
		r.closesAt = push.ClosesAt
	case protocol.TypeAnswerSeen:
		if r.seen[push.Player] {
			return fmt.Errorf("it was pushed before")
		}
		r.seen[push.Player] = true
	case protocol.TypeQuestionClosed:
		r.closed = new(protocol.QuestionClosed)
		err := json.Unmarshal(data, r.closed)
		r.right = DecodeCorrectAnswer(r.closed.Answer)
		return err
	default:
		return fmt.Errorf("this is no numbered push")
	}
	return nil
}

// part is the part of one player in a match: the answers, and what only this player was
// told.
type part struct {
	player   string
	isClient bool  // a View reports this part
	hasEnded bool  // the client has seen the end, and has no open request
	extra    int64 // extra time in percent
	answers  map[int]*answer
	own      map[int]protocol.Own
}

// answer is what a player sent to one question, and the verdict of the server.
type answer struct {
	sent      []json.RawMessage // all different answers, as results show them
	accepted  json.RawMessage   // the one of them that the server accepted; nil: none
	replyData json.RawMessage   // of the reply that accepted it
	reply     protocol.Answered
	isEarly   bool // accepted before the client had received the question
	isLate    bool // refused with question_closed
	isUnsure  bool // refused for now; it may count nevertheless
}

func (a *answer) isAccepted() bool { return a != nil && a.accepted != nil }

func (a *answer) has(given json.RawMessage) bool {
	return slices.ContainsFunc(a.sent, func(sent json.RawMessage) bool { return bytes.Equal(sent, given) })
}

// matches reports whether the server names the answer as it accepted it.
func (a *answer) matches(named protocol.AcceptedAnswer) bool {
	return named.At == a.reply.At && named.ElapsedMS == a.reply.ElapsedMS && bytes.Equal(named.Given, a.accepted)
}

func encodeGiven(a protocol.Answer) json.RawMessage {
	given, _ := json.Marshal(a.Given) // plain fields always encode
	return given
}
