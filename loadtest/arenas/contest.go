package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// contest is what players play, and how all of them answer.
type contest struct {
	mode, answer string
	arenas       int
	seat         seating
	spread       time.Duration // over which the answers to a question are; 0: all at once

	mu      sync.Mutex
	latency *hdrhistogram.Histogram // µs
	firsts  int
	began   time.Time
	ended   time.Time
}

// contender is one player at work. It shares the machine with what it measures:
// it looks at no more of a frame than it has to, and keeps what it reads into.
type contender struct {
	*player.Player
	of    *contest
	frame []byte      // the one that was read last
	sent  []time.Time // when, answer by answer
	first int64       // id of the first of them
	took  []replied   // answer by answer
	data  []byte      // of the last answer
}

type replied struct {
	took  time.Duration
	first bool
}

// patience bounds a whole contest.
const patience = 10 * time.Minute

// contend answers every question, at once or within the spread, until the match
// is over.
func (c *contest) contend(p *player.Player, questions int) error {
	d := &contender{Player: p, of: c, sent: make([]time.Time, 0, questions), took: make([]replied, 0, questions)}
	if err := d.Within(patience); err != nil {
		return err
	}
	for {
		var err error
		if d.frame, err = d.ReadInto(d.frame); err != nil {
			return err
		}
		switch {
		case bytes.HasPrefix(d.frame, []byte(`{"type":"`+protocol.TypeQuestion+`",`)):
			err = d.answer()
		case bytes.HasPrefix(d.frame, []byte(`{"re":`)):
			err = d.decided()
		case bytes.HasPrefix(d.frame, []byte(`{"type":"`+protocol.TypeMatchOver+`",`)):
			return c.add(d)
		}
		if err != nil {
			return err
		}
	}
}

// answer answers the question that was read.
func (d *contender) answer() error {
	match, _, named := bytes.Cut(behind(d.frame, `"match":"`), []byte(`"`))
	question, numbered := number(behind(d.frame, `"data":{"question":`))
	if !named || !numbered {
		return fmt.Errorf("no question: %s", d.frame)
	}
	d.data = append(append(append(d.data[:0], `{"match":"`...), match...), `","question":`...)
	d.data = append(append(append(strconv.AppendInt(d.data, question, 10), `,"value":`...), d.of.answer...), '}')
	if d.of.spread > 0 {
		time.Sleep(rand.N(d.of.spread)) //nolint:gosec // load is no secret
	}
	at := time.Now()
	id, err := d.SendData(protocol.TypeAnswer, d.data)
	if len(d.sent) == 0 {
		d.first = id
	}
	d.sent = append(d.sent, at)
	return err
}

// decided notes the reply to an answer.
func (d *contender) decided() error {
	came := time.Now()
	re, ok := number(behind(d.frame, `{"re":`))
	if nth := re - d.first; !ok || nth < 0 || nth >= int64(len(d.sent)) {
		return fmt.Errorf("a reply to nothing: %s", d.frame)
	}
	if bytes.Contains(d.frame, []byte(`,"type":"`+protocol.TypeError+`",`)) && !d.lost() {
		return fmt.Errorf("refused: %s", d.frame)
	}
	d.took = append(d.took, replied{came.Sub(d.sent[re-d.first]), bytes.Contains(d.frame, []byte(`"first":true`))})
	return nil
}

// lost says whether a refusal is of an answer that another was faster than.
func (d *contender) lost() bool {
	var refusal struct{ Data protocol.Error }
	return d.of.mode == "buzzer" && json.Unmarshal(d.frame, &refusal) == nil && refusal.Data.Code == protocol.CodeQuestionClosed
}

// behind is what follows on a text in a frame, empty where the text is not there.
func behind(frame []byte, text string) []byte {
	_, rest, _ := bytes.Cut(frame, []byte(text))
	return rest
}

// number is the one that a text begins with.
func number(text []byte) (n int64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n, ok = 10*n+int64(c-'0'), true
	}
	return n, ok
}

// add adds what a contender has seen to what all have.
func (c *contest) add(d *contender) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range d.took {
		if r.first {
			c.firsts++
		}
		if at := d.sent[i]; c.began.IsZero() || at.Before(c.began) {
			c.began = at
		}
		if came := d.sent[i].Add(r.took); came.After(c.ended) {
			c.ended = came
		}
		if err := c.latency.RecordValue(max(r.took.Microseconds(), 1)); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a run that was not what it says.
func (c *contest) check(o options) error {
	switch want := int64(c.arenas * o.players * o.questions); {
	case c.mode == "survival" && c.latency.TotalCount() != want:
		return fmt.Errorf("%d answers were accepted, want %d", c.latency.TotalCount(), want)
	case c.mode == "buzzer" && c.firsts != o.questions:
		return fmt.Errorf("%d questions had %d firsts", o.questions, c.firsts)
	}
	return nil
}
