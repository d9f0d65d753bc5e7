package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/client"
)

// openMatches are players in arenas or duels whose question stays open.
type openMatches struct {
	urls    []string // of the nodes; each player is at the next one
	arenas  []protocol.ArenaMade
	hosts   []*client.Player
	cancel  context.CancelFunc
	playing sync.WaitGroup
	events  chan playerEvent
	counts  map[string]int // events so far, by kind
}

// playerEvent is what happened to a player.
type playerEvent struct {
	kind string // seated, asked, returned
	at   time.Time
	err  error // nil unless the player failed
}

const (
	joinInterval = time.Millisecond // between the starts of two players
	awaitTimeout = 3 * time.Minute  // until all players have come so far
)

// play seats players and sends a question to all of them. The hosts of arenas are at the
// given node.
func (m *openMatches) play(ctx context.Context, count int, inArenas bool, hostURL string) error {
	ctx, m.cancel = context.WithCancel(ctx)
	m.events, m.counts = make(chan playerEvent, 4*count), make(map[string]int)
	for i := 0; inArenas && i < count/seatsPerArena; i++ {
		host, made, err := makeArena(ctx, hostURL, protocol.NewArena{
			Mode: "survival", Name: "connections", Pace: "host", Questions: protocol.ArenaQuestions{Count: 2},
		})
		if err != nil {
			return err
		}
		m.hosts, m.arenas = append(m.hosts, host), append(m.arenas, made)
	}
	for i := range count {
		guest, err := newGuest(i)
		if err != nil {
			return err
		}
		m.playing.Go(func() { m.playSeat(ctx, guest, i) })
		time.Sleep(joinInterval)
	}
	if _, err := m.await(ctx, "seated", count); err != nil {
		return err
	}
	for i, host := range m.hosts {
		if err := host.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: m.arenas[i].ArenaID}); err != nil {
			return err
		}
	}
	time.Sleep(time.Second) // a countdown of 0 takes some ticks
	for i, host := range m.hosts {
		if err := host.Ask(protocol.TypeArenaNext, protocol.ArenaNext{ArenaID: m.arenas[i].ArenaID, After: -1}); err != nil {
			return err
		}
	}
	_, err := m.await(ctx, "asked", count)
	return err
}

// playSeat plays until the context ends. After a lost connection the player goes to the next
// node.
func (m *openMatches) playSeat(ctx context.Context, guest client.Guest, number int) {
	node := number
	p := &client.ReconnectingPlayer{
		Guest: guest, NextServer: func(string) string { node++; return m.urls[(node-1)%len(m.urls)] },
		ReplyTimeout: clientTimeout, ConnectTimeout: clientTimeout, Dialer: client.Dialer{LocalDialer: client.FromAddress(number / client.PerAddress)},
	}
	defer p.Disconnect()
	if len(m.arenas) > 0 {
		p.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: m.arenas[number/seatsPerArena%len(m.arenas)].Code})
	} else {
		p.Ask(protocol.TypeDuelJoin, protocol.DuelJoin{})
	}
	for ctx.Err() == nil {
		r, err := p.Next(ctx, time.Now().Add(time.Hour))
		if err == nil {
			err = m.handle(p, r, number)
		}
		if err != nil && ctx.Err() == nil {
			m.events <- playerEvent{err: fmt.Errorf("player %d: %w", number, err)}
			return
		}
	}
}

// handle answers the question in arenas. One player of each arena does not answer, so that
// the question stays open.
func (m *openMatches) handle(p *client.ReconnectingPlayer, r client.Received, number int) error {
	switch r.Type {
	case protocol.TypeError:
		return m.handleRefusal(p, r)
	case protocol.TypeArenaJoined, protocol.TypeDuelQueued:
		m.events <- playerEvent{kind: "seated"}
	case protocol.TypeMatchState:
		m.events <- playerEvent{kind: "returned", at: r.ReceivedAt}
	case protocol.TypeAnswered:
		m.events <- playerEvent{kind: "asked"}
	case protocol.TypeQuestion:
		if len(m.arenas) == 0 || number%seatsPerArena == 0 {
			m.events <- playerEvent{kind: "asked"}
			return nil
		}
		var q protocol.Question
		if err := json.Unmarshal(r.Data, &q); err != nil {
			return err
		}
		p.Ask(protocol.TypeAnswer, protocol.Answer{Match: r.Match, Question: &q.Question, Given: client.ArbitraryAnswer(q)})
	}
	return nil
}

// handleRefusal sends a request again after a temporary refusal. The refused request may have
// taken effect: the player has already joined or answered. Any other refusal is an error.
func (m *openMatches) handleRefusal(p *client.ReconnectingPlayer, r client.Received) error {
	var e protocol.Error
	if err := json.Unmarshal(r.Data, &e); err != nil {
		return err
	}
	switch e.Code {
	case protocol.CodeUnavailable, protocol.CodeOverloaded:
		time.Sleep(time.Duration(e.RetryAfterMS) * time.Millisecond)
		p.Ask(r.Request.Kind, r.Request.Data)
	case protocol.CodeAlreadyQueued, protocol.CodeAlreadyPlaying:
		m.events <- playerEvent{kind: "seated"}
	case protocol.CodeDuplicateAnswer:
		m.events <- playerEvent{kind: "asked"}
	default:
		return fmt.Errorf("refused: %s", r.Raw)
	}
	return nil
}

// await waits until so many events of a kind have happened, and returns the times of those
// since the call. It fails if a player fails.
func (m *openMatches) await(ctx context.Context, kind string, count int) (times []time.Time, err error) {
	timeout := time.After(awaitTimeout)
	for m.counts[kind] < count {
		select {
		case e := <-m.events:
			if e.err != nil {
				return times, e.err
			}
			m.counts[e.kind]++
			if e.kind == kind {
				times = append(times, e.at)
			}
		case <-timeout:
			return times, fmt.Errorf("not all of %d players were %s after %v: %v", count, kind, awaitTimeout, m.counts)
		case <-ctx.Done():
			return times, ctx.Err()
		}
	}
	return times, nil
}

// close closes all connections and waits for the players.
func (m *openMatches) close() {
	m.cancel()
	m.playing.Wait()
	for _, host := range m.hosts {
		_ = host.Close()
	}
}
