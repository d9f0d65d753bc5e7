package main

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"laststand/internal/protocol"
	"laststand/loadtest/harness"
	"laststand/loadtest/player"
)

// contest is the kind of match that players play, and how they answer.
type contest struct {
	mode, answer string
	arenas       int
	seat         seating
	spread       time.Duration // time over which the answers to a question are spread; 0: all at once

	first   sync.Once
	machine harness.Machine // reading when the first reply came
	blind   error           // error of that reading

	mu      sync.Mutex
	latency *hdrhistogram.Histogram // µs
	firsts  int
	began   time.Time
	ended   time.Time
}

// replyTimeout bounds a whole contest.
const replyTimeout = 10 * time.Minute

// contend answers every question, at once or within the spread, until the match is over.
func (c *contest) contend(p *player.Player, questions int) error {
	replies, pause := make([]player.Reply, 0, questions), new(atomic.Int64)
	pause.Store(int64(c.spread))
	took := func(r player.Reply) {
		c.first.Do(func() { c.machine, c.blind = harness.ReadMachine() })
		replies = append(replies, r)
	}
	d := player.Contender{Player: p, Value: c.answer, Pause: pause, Other: c.lost, Took: took}
	if err := d.SetReadTimeout(replyTimeout); err != nil {
		return err
	}
	if err := d.Play(); err != nil {
		return err
	}
	return c.add(replies)
}

// lost returns an error, unless the frame refuses an answer because another player was
// faster.
func (c *contest) lost(frame []byte) error {
	var refusal struct{ Data protocol.Error }
	if c.mode == "buzzer" && json.Unmarshal(frame, &refusal) == nil && refusal.Data.Code == protocol.CodeQuestionClosed {
		return nil
	}
	return fmt.Errorf("refused: %s", frame)
}

// add adds the replies of one contender to the totals.
func (c *contest) add(replies []player.Reply) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range replies {
		if r.First {
			c.firsts++
		}
		if c.began.IsZero() || r.Asked.Before(c.began) {
			c.began = r.Asked
		}
		if came := r.Asked.Add(r.Took); came.After(c.ended) {
			c.ended = came
		}
		if err := c.latency.RecordValue(max(r.Took.Microseconds(), 1)); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if a run did not play what it should have played.
func (c *contest) check(o options) error {
	switch want := int64(c.arenas * o.players * o.questions); {
	case c.mode == "survival" && c.latency.TotalCount() != want:
		return fmt.Errorf("%d answers were accepted, want %d", c.latency.TotalCount(), want)
	case c.mode == "buzzer" && c.firsts != o.questions:
		return fmt.Errorf("%d questions had %d firsts", o.questions, c.firsts)
	}
	return nil
}
