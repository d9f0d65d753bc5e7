package player

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

// Contender is a player who answers every question in the same way. It shares the
// machine with what it measures: it looks at no more of a frame than it has to, and
// keeps what it reads into. It is not safe for concurrent use.
type Contender struct {
	*Player                          // who has come by a lean Door
	Value   string                   // the answer to all, as JSON
	Pause   *atomic.Int64            // nanoseconds within which it answers, at some instant; 0: at once
	Took    func(Reply)              // is told of each reply to an answer
	Other   func(frame []byte) error // is told of any other reply, or a refused answer; nil: none may be refused

	frame, data []byte
	sent        map[int64]time.Time // answers without a reply, by their ids
	newest      int64               // of these
	late        bool                // it was refused for a while
}

// Reply is one to an answer, and how long it was waited for.
type Reply struct {
	Asked time.Time
	Took  time.Duration
	First bool // was told to be the first right one
}

// Play answers until a match is over. How long it may take is set by Within.
func (c *Contender) Play() error {
	if c.sent == nil {
		c.sent = make(map[int64]time.Time)
	}
	return c.fastConn.each(c.take)
}

// take takes a frame, and says whether it is the last.
func (c *Contender) take(frame []byte) (over bool, err error) {
	c.frame = frame
	switch {
	case bytes.HasPrefix(frame, []byte(`{"type":"`+protocol.TypeQuestion+`",`)):
		err = c.answer()
	case bytes.HasPrefix(frame, []byte(`{"re":`)):
		err = c.replied()
	case bytes.HasPrefix(frame, []byte(`{"type":"`+protocol.TypeMatchOver+`",`)):
		over = true
	}
	return over, err
}

// answer answers the question that was read.
func (c *Contender) answer() error {
	match, _, named := bytes.Cut(Behind(c.frame, `"match":"`), []byte(`"`))
	question, numbered := Number(Behind(c.frame, `"data":{"question":`))
	if !named || !numbered {
		return fmt.Errorf("no question: %s", c.frame)
	}
	c.data = append(append(append(c.data[:0], `{"match":"`...), match...), `","question":`...)
	c.data = append(append(append(strconv.AppendInt(c.data, question, 10), `,"value":`...), c.Value...), '}')
	if pause := c.Pause.Load(); pause > 0 {
		time.Sleep(time.Duration(rand.Int64N(pause))) //nolint:gosec // load is no secret
	}
	at := time.Now()
	c.late = false
	return c.send(at)
}

// send sends the answer, for which the player has waited since an instant.
func (c *Contender) send(since time.Time) error {
	id, err := c.SendData(protocol.TypeAnswer, c.data)
	c.sent[id], c.newest = since, id
	return err
}

// replied takes a reply.
func (c *Contender) replied() error {
	came := time.Now()
	re, ok := Number(Behind(c.frame, `{"re":`))
	if !ok {
		return fmt.Errorf("a reply to nothing: %s", c.frame)
	}
	at, answer := c.sent[re]
	delete(c.sent, re)
	refused := bytes.Contains(c.frame, []byte(`,"type":"`+protocol.TypeError+`",`))
	if answer && refused {
		if done, err := c.again(re, at); done || err != nil {
			return err
		}
	}
	if !answer || refused {
		switch {
		case c.Other != nil:
			if err := c.Other(c.frame); err != nil {
				return err
			}
		case refused:
			return fmt.Errorf("refused: %s", c.frame)
		}
	}
	if answer {
		c.Took(Reply{at, came.Sub(at), bytes.Contains(c.frame, []byte(`"first":true`))})
	}
	return nil
}

// again sends an answer that was refused for now once more, when it is asked to. That
// it may then come too late is in order; it is not told of, nor is one to a question that
// another has followed on.
func (c *Contender) again(id int64, since time.Time) (done bool, err error) {
	code, waited, err := refusal(c.frame)
	switch {
	case err != nil:
		return false, err
	case waited && id != c.newest:
		return true, nil
	case waited:
		c.late = true
		return true, c.send(since)
	}
	return c.late && code == protocol.CodeQuestionClosed, nil
}

// refusal is what an error says; where it is for now only, it has been waited for as
// long as it says.
func refusal(frame []byte) (code protocol.Code, waited bool, err error) {
	var f struct{ Data protocol.Error }
	if err = json.Unmarshal(frame, &f); err != nil {
		return "", false, err
	}
	if waited = f.Data.Code == protocol.CodeUnavailable || f.Data.Code == protocol.CodeOverloaded; waited {
		time.Sleep(max(time.Duration(f.Data.RetryAfterMS)*time.Millisecond, leastWait))
	}
	return f.Data.Code, waited, nil
}

// LockedOut says whether a refused answer is one of a buzzer team that has just
// answered wrong. It may be sent again after RetryAfterMS.
func LockedOut(e protocol.Error) bool {
	return e.Code == protocol.CodeQuestionNotOpen && e.RetryAfterMS > 0
}

const leastWait = 20 * time.Millisecond

// Joining has a request to join made once more where a frame, a reply to it, refuses it
// for now only; it is for Other.
func Joining(frame []byte, join func() error) error {
	if !bytes.Contains(frame, []byte(`,"type":"`+protocol.TypeError+`",`)) {
		return nil
	}
	_, waited, err := refusal(frame)
	switch {
	case err != nil:
		return err
	case !waited:
		return fmt.Errorf("refused: %s", frame)
	}
	return join()
}

// Behind is what follows on a text in a frame, empty where the text is not there.
func Behind(frame []byte, text string) []byte {
	_, rest, _ := bytes.Cut(frame, []byte(text))
	return rest
}

// Number is the one that a text begins with.
func Number(text []byte) (n int64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n, ok = 10*n+int64(c-'0'), true
	}
	return n, ok
}
