package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/harness"
	"laststand/loadtest/player"
)

// arenaSize is the number of players in an arena of this program.
const arenaSize = 100

// contests are the players of one process, in arenas or duels with a question that stays
// open.
type contests struct {
	order
	seated, asked atomic.Int64

	mu     sync.Mutex
	led    []int64 // epoch µs
	failed error
}

// seat connects the players, each to the next node, and lets them join. It counts the
// players who have a seat.
func (c *contests) seat() error {
	for i := range c.Count {
		g, err := guest(c.First + i)
		if err != nil {
			return err
		}
		r := &player.Roamer{
			Guest: g, Servers: c.servers(i), ReplyTimeout: replyTimeout, GiveUp: replyTimeout,
			Dialer: player.Dialer{From: harness.Source((c.First + i) / harness.PerSource)},
		}
		go c.contend(r, c.First+i) // ends with the process
	}
	return c.until(func() bool { return c.seated.Load() == int64(c.Count) }, "seated")
}

// servers returns the next node at each call.
func (c *contests) servers(i int) func(string) string {
	return func(string) string {
		i++
		return c.Nodes[(i-1)%len(c.Nodes)]
	}
}

func (c *contests) contend(r *player.Roamer, number int) {
	kind, data := protocol.TypeDuelJoin, any(protocol.DuelJoin{})
	if len(c.Codes) > 0 {
		kind, data = protocol.TypeArenaJoin, protocol.ArenaJoin{Code: c.Codes[number/arenaSize%len(c.Codes)]}
	}
	r.Ask(kind, data)
	for {
		h, err := r.Next(context.Background(), time.Now().Add(time.Hour))
		if err == nil {
			err = c.take(r, h, number)
		}
		if err != nil {
			c.fail(fmt.Errorf("player %d: %w", number, err))
			return
		}
	}
}

// take answers the question in arenas. One player of each arena does not answer, so that
// the question stays open.
func (c *contests) take(r *player.Roamer, h player.Received, number int) error {
	switch h.Type {
	case protocol.TypeError:
		return fmt.Errorf("refused: %s", h.Raw)
	case protocol.TypeArenaJoined, protocol.TypeDuelQueued:
		c.seated.Add(1)
	case protocol.TypeMatchState:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.led = append(c.led, h.Came.UnixMicro())
	case protocol.TypeQuestion:
		if len(c.Codes) == 0 || number%arenaSize == 0 {
			c.asked.Add(1)
			return nil
		}
		var q protocol.Question
		if err := json.Unmarshal(h.Data, &q); err != nil {
			return err
		}
		r.Ask(protocol.TypeAnswer, protocol.Answer{Match: h.Match, Question: &q.Question, Given: player.RandomAnswer(q)})
	case protocol.TypeAnswered:
		c.asked.Add(1)
	}
	return nil
}

func (c *contests) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = errors.Join(c.failed, err)
}

// wait waits until all players have received a question.
func (c *contests) wait() error {
	return c.until(func() bool { return c.asked.Load() == int64(c.Count) }, "asked")
}

// back waits until the players of the first node are back in their matches.
func (c *contests) back() (counts, error) {
	var t counts
	err := c.until(func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.Back = c.led
		return len(t.Back) == (c.Count+len(c.Nodes)-1)/len(c.Nodes)
	}, "back")
	return t, err
}

func (c *contests) until(holds func() bool, what string) error {
	for until := time.Now().Add(replyTimeout); !holds(); time.Sleep(10 * time.Millisecond) {
		c.mu.Lock()
		err := c.failed
		c.mu.Unlock()
		if err != nil {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("not all were %s: %d seated, %d asked, %d back, of %d", what, c.seated.Load(), c.asked.Load(), len(c.led), c.Count)
		}
	}
	return nil
}
