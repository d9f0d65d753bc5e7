package client

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

// AnsweringPlayer is a player who answers every question in the same way. It shares the
// machine with the server that it measures. So it reads no more of a frame than it must,
// and reuses its buffers. It is not safe for concurrent use.
type AnsweringPlayer struct {
	*Player                               // connected by a Dialer with Lean
	AnswerJSON   string                   // the answer to every question, as JSON
	MaxDelay     *atomic.Int64            // nanoseconds; the answer comes at a random instant within them; 0: at once
	OnReply      func(Reply)              // is called with each reply to an answer
	OnOtherFrame func(frame []byte) error // is called with any other reply, and with a refused answer; nil: a refusal is an error

	frame, data []byte
	sent        map[int64]time.Time // when each answer without a reply was sent, by id
	newest      int64               // id of the newest answer
	late        bool                // the newest answer was refused for a while
}

// Reply is a reply to an answer, and how long it took.
type Reply struct {
	SentAt  time.Time
	Latency time.Duration
	IsFirst bool // this answer was the first right one
}

// Play answers until a match is over. SetReadTimeout bounds how long that may take.
func (c *AnsweringPlayer) Play() error {
	if c.sent == nil {
		c.sent = make(map[int64]time.Time)
	}
	return c.fastConn.each(c.take)
}

// take handles a frame, and returns whether it is the last.
func (c *AnsweringPlayer) take(frame []byte) (over bool, err error) {
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

// answer answers the current question.
func (c *AnsweringPlayer) answer() error {
	match, _, named := bytes.Cut(TextAfter(c.frame, `"match":"`), []byte(`"`))
	question, numbered := ParseNumber(TextAfter(c.frame, `"data":{"question":`))
	if !named || !numbered {
		return fmt.Errorf("no question: %s", c.frame)
	}
	c.data = append(append(append(c.data[:0], `{"match":"`...), match...), `","question":`...)
	c.data = append(append(append(strconv.AppendInt(c.data, question, 10), `,"value":`...), c.AnswerJSON...), '}')
	if pause := c.MaxDelay.Load(); pause > 0 {
		time.Sleep(time.Duration(rand.Int64N(pause))) //nolint:gosec // load is no secret
	}
	at := time.Now()
	c.late = false
	return c.send(at)
}

// send sends the answer; since is when the player first sent it.
func (c *AnsweringPlayer) send(since time.Time) error {
	id, err := c.SendData(protocol.TypeAnswer, c.data)
	c.sent[id], c.newest = since, id
	return err
}

// replied handles a reply.
func (c *AnsweringPlayer) replied() error {
	came := time.Now()
	re, ok := ParseNumber(TextAfter(c.frame, `{"re":`))
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
		case c.OnOtherFrame != nil:
			if err := c.OnOtherFrame(c.frame); err != nil {
				return err
			}
		case refused:
			return fmt.Errorf("refused: %s", c.frame)
		}
	}
	if answer {
		c.OnReply(Reply{at, came.Sub(at), bytes.Contains(c.frame, []byte(`"first":true`))})
	}
	return nil
}

// again repeats an answer after a temporary refusal, when the server allows it. The
// repeated answer may be too late, which is no error and is not reported. If the next
// question has come by then, again sends and reports nothing.
func (c *AnsweringPlayer) again(id int64, since time.Time) (done bool, err error) {
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

// refusal decodes an error reply. If the refusal is temporary, it waits for the time
// that the reply states.
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

// IsLockedOut says whether an answer was refused because the player's buzzer team has just
// answered wrong. The player may send it again after RetryAfterMS.
func IsLockedOut(e protocol.Error) bool {
	return e.Code == protocol.CodeQuestionNotOpen && e.RetryAfterMS > 0
}

const leastWait = 20 * time.Millisecond

// RetryJoin calls join again if the frame is a temporary refusal of a request to join. It
// is meant for AnsweringPlayer.OnOtherFrame.
func RetryJoin(frame []byte, join func() error) error {
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
