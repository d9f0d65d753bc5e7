package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/client"
)

// seatsPerArena is the number of players in an arena of Connections.
const seatsPerArena = 100

// measurePlaying measures the memory of players in arenas, who answer, and in duels. The
// question of all of them stays open.
func measurePlaying(ctx context.Context, o connectionsOptions, r connectionsReport) error {
	for _, row := range []string{"playing, arenas", "playing, duels"} {
		c, err := o.startNodes(ctx, 1)
		if err != nil {
			return err
		}
		before, after, err := o.playOpenQuestion(ctx, c, row == "playing, arenas")
		if err := errors.Join(err, c.stop()); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
		r.addMemory(row, o.playing, before, after)
	}
	return nil
}

// playOpenQuestion returns the memory of the node before it has players, and while all have
// an open question.
func (o connectionsOptions) playOpenQuestion(ctx context.Context, c *cluster, inArenas bool) (before, after memory, err error) {
	if before, err = c.steadyMemory(ctx, o.heapFile("before")); err != nil {
		return before, after, err
	}
	m := &openMatches{urls: c.urls}
	defer m.close()
	if err := m.play(ctx, o.playing, inArenas, c.urls[0]); err != nil {
		return before, after, err
	}
	after, err = c.steadyMemory(ctx, o.heapFile("after"))
	return before, after, err
}

// measureKill stops one of two nodes during a question. It measures how long its players
// take to return to their matches on the other node.
func measureKill(ctx context.Context, o connectionsOptions, r connectionsReport) (err error) {
	c, err := o.startNodes(ctx, 2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	m := &openMatches{urls: c.urls}
	defer m.close()
	if err := m.play(ctx, o.playing, true, c.urls[1]); err != nil {
		return err
	}
	before, err := c.nodes[1].Metrics(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := c.nodes[0].Kill(); err != nil {
		return err
	}
	times, err := m.waitForReturn(ctx, start)
	if err != nil {
		return err
	}
	after, err := c.nodes[1].Metrics(ctx)
	if err != nil {
		return err
	}
	r.addWave("death of a node", times, time.Since(start), int(refusals(after)-refusals(before)))
	return nil
}

// refusals returns how many connections a node has closed by itself.
func refusals(m testenv.Metrics) float64 {
	const name = "laststand_ws_closes_total"
	return m.Sum(name) - m.Sum(name, `code="gone"`)
}

// openMatches are players in arenas or duels whose question stays open.
type openMatches struct {
	urls    []string // of the nodes; each player is at the next one
	codes   []string // of the arenas; none: duels
	hosts   []*client.Player
	arenas  []string // ids
	cancel  context.CancelFunc
	playing sync.WaitGroup
	seated  atomic.Int64
	asked   atomic.Int64 // players who have received the question, and answered it if they do

	mu         sync.Mutex
	returnedAt []time.Time // when players have received the state of their match
	err        error
}

// play seats players and sends a question to all of them. The hosts of arenas are at the
// given node.
func (m *openMatches) play(ctx context.Context, count int, inArenas bool, hostURL string) error {
	ctx, m.cancel = context.WithCancel(ctx)
	for i := 0; inArenas && i < count/seatsPerArena; i++ {
		host, made, err := makeArena(ctx, hostURL, protocol.NewArena{
			Mode: "survival", Name: "connections", Pace: "host", Questions: protocol.ArenaQuestions{Count: 2},
		})
		if err != nil {
			return err
		}
		m.hosts, m.codes, m.arenas = append(m.hosts, host), append(m.codes, made.Code), append(m.arenas, made.ArenaID)
	}
	for i := range count {
		token, err := testenv.Token("player", fmt.Sprintf("player_%d", i))
		if err != nil {
			return err
		}
		p := &client.ReconnectingPlayer{
			Guest: client.Guest{ID: fmt.Sprintf("player_%d", i), Token: token}, NextServer: m.nextServer(i),
			ReplyTimeout: clientTimeout, ConnectTimeout: clientTimeout, Dialer: client.Dialer{From: client.FromAddress(i / client.PerAddress)},
		}
		m.playing.Go(func() { m.playSeat(ctx, p, i) })
	}
	if err := m.waitFor(ctx, "seated", func() bool { return m.seated.Load() == int64(count) }); err != nil {
		return err
	}
	for i, host := range m.hosts {
		if err := host.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: m.arenas[i]}); err != nil {
			return err
		}
	}
	time.Sleep(time.Second) // a countdown of 0 takes some ticks
	for i, host := range m.hosts {
		if err := host.Ask(protocol.TypeArenaNext, protocol.ArenaNext{ArenaID: m.arenas[i], After: -1}); err != nil {
			return err
		}
	}
	return m.waitFor(ctx, "asked", func() bool { return m.asked.Load() == int64(count) })
}

// nextServer returns the next node at each call.
func (m *openMatches) nextServer(i int) func(string) string {
	return func(string) string {
		i++
		return m.urls[(i-1)%len(m.urls)]
	}
}

// playSeat plays until the context ends.
func (m *openMatches) playSeat(ctx context.Context, p *client.ReconnectingPlayer, number int) {
	defer p.Disconnect()
	if len(m.codes) > 0 {
		p.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: m.codes[number/seatsPerArena%len(m.codes)]})
	} else {
		p.Ask(protocol.TypeDuelJoin, protocol.DuelJoin{})
	}
	for {
		r, err := p.Next(ctx, time.Now().Add(time.Hour))
		if err == nil {
			err = m.handle(p, r, number)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			m.mu.Lock()
			m.err = errors.Join(m.err, fmt.Errorf("player %d: %w", number, err))
			m.mu.Unlock()
			return
		}
	}
}

// handle answers the question in arenas. One player of each arena does not answer, so that
// the question stays open.
func (m *openMatches) handle(p *client.ReconnectingPlayer, r client.Received, number int) error {
	switch r.Type {
	case protocol.TypeError:
		return repeatRequest(p, r)
	case protocol.TypeArenaJoined, protocol.TypeDuelQueued:
		m.seated.Add(1)
	case protocol.TypeMatchState:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.returnedAt = append(m.returnedAt, r.ReceivedAt)
	case protocol.TypeQuestion:
		if len(m.codes) == 0 || number%seatsPerArena == 0 {
			m.asked.Add(1)
			return nil
		}
		var q protocol.Question
		if err := json.Unmarshal(r.Data, &q); err != nil {
			return err
		}
		p.Ask(protocol.TypeAnswer, protocol.Answer{Match: r.Match, Question: &q.Question, Given: client.ArbitraryAnswer(q)})
	case protocol.TypeAnswered:
		m.asked.Add(1)
	}
	return nil
}

// repeatRequest sends a request again after a temporary refusal. Any other refusal is an
// error.
func repeatRequest(p *client.ReconnectingPlayer, r client.Received) error {
	var e protocol.Error
	if err := json.Unmarshal(r.Data, &e); err != nil {
		return err
	}
	if e.Code != protocol.CodeUnavailable && e.Code != protocol.CodeOverloaded {
		return fmt.Errorf("refused: %s", r.Raw)
	}
	time.Sleep(time.Duration(e.RetryAfterMS) * time.Millisecond)
	p.Ask(r.Request.Kind, r.Request.Data)
	return nil
}

// waitForReturn waits until all players of the first node are back in their matches, and
// returns how long each took.
func (m *openMatches) waitForReturn(ctx context.Context, since time.Time) (times []time.Duration, err error) {
	count := (int(m.seated.Load()) + len(m.urls) - 1) / len(m.urls)
	err = m.waitFor(ctx, "back in their matches", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.returnedAt) == count
	})
	for _, at := range m.returnedAt {
		times = append(times, at.Sub(since))
	}
	return times, err
}

// waitFor waits until a condition is true, and fails if a player fails.
func (m *openMatches) waitFor(ctx context.Context, goal string, isTrue func() bool) error {
	for until := time.Now().Add(clientTimeout); !isTrue(); time.Sleep(10 * time.Millisecond) {
		m.mu.Lock()
		err := m.err
		returned := len(m.returnedAt)
		m.mu.Unlock()
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("not all players were %s after %v: %d seated, %d asked, %d back", goal, clientTimeout, m.seated.Load(), m.asked.Load(), returned)
		}
	}
	return nil
}

// close closes all connections and waits for the players.
func (m *openMatches) close() {
	if m.cancel != nil {
		m.cancel()
	}
	m.playing.Wait()
	for _, host := range m.hosts {
		_ = host.Close()
	}
}
