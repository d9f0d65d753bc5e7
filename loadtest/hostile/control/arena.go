package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// host plays arenas one after another, each with another host.
func (p *person) host() error {
	for n := 0; !p.of.stopping(); n++ {
		h := &person{of: p.of, id: fmt.Sprintf("host_%d", n), from: p.from}
		if err := h.hostOne(n); err != nil {
			return err
		}
	}
	return nil
}

// hostOne plays one arena to its end.
func (p *person) hostOne(n int) error {
	made, err := p.makeArena()
	if err != nil {
		return err
	}
	t, err := p.connect("host")
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.settle(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code, As: "host"}); err != nil {
		return err
	}
	var seats sync.WaitGroup
	defer seats.Wait()
	ready := make(chan struct{}, p.of.Seats)
	for i := range p.of.Seats {
		one := &person{of: p.of, id: fmt.Sprintf("seat_%d_%d", n, i), from: address(1000 + i)}
		seats.Go(func() { p.of.end(one, one.playArena(made.Code, ready)) })
	}
	for range p.of.Seats {
		select {
		case <-ready:
		case <-time.After(quiet):
			return fmt.Errorf("the arena %s was not seated in %s", made.ArenaID, quiet)
		}
	}
	if err := t.settle(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID}); err != nil {
		return err
	}
	return t.untilOver(func(received) error { return nil })
}

// makeArena makes an arena over HTTP.
func (p *person) makeArena() (made protocol.ArenaMade, err error) {
	token, err := testenv.Token("host", p.id)
	if err != nil {
		return made, err
	}
	body, err := json.Marshal(protocol.NewArena{
		Mode: "buzzer", Name: "control", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 10},
		Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
	})
	if err != nil {
		return made, err
	}
	r, err := http.NewRequestWithContext(p.of.life, http.MethodPost, p.of.URL+"/v1/games/demo/arenas", bytes.NewReader(body))
	if err != nil {
		return made, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	return made, p.fetch(p.client(), r, http.StatusCreated, &made)
}

// playArena takes a seat and answers all questions.
func (p *person) playArena(code string, ready chan<- struct{}) error {
	t, err := p.connect("player")
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.settle(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: code}); err != nil {
		return err
	}
	ready <- struct{}{}
	return t.untilOver(func(h received) error {
		switch h.Type {
		case protocol.TypeQuestion:
			return t.reply(h)
		case protocol.TypeAnswered:
			p.of.answers.add(h.ReceivedAt.Sub(h.to.at))
		case protocol.TypeError:
			if e := h.refusal(); e.Code != protocol.CodeQuestionClosed { // another player was first
				return fmt.Errorf("%s: %w: %s", h.to.kind, errRefused, h.Raw)
			}
		}
		return nil
	})
}

// settle sends a request and waits for its reply, which must not be an error.
func (t *talker) settle(kind string, data any) error {
	if err := t.ask(kind, data); err != nil {
		return err
	}
	for {
		h, err := t.next(time.Second)
		switch {
		case err != nil:
			return err
		case h.to.kind == kind && h.Type == protocol.TypeError:
			return fmt.Errorf("%s: %w: %s", kind, errRefused, h.Raw)
		case h.to.kind == kind:
			return nil
		}
	}
}

// untilOver passes the frames of a match to take until the match is over.
func (t *talker) untilOver(take func(received) error) error {
	last := time.Now()
	for {
		h, err := t.next(time.Second)
		switch {
		case err != nil:
			return err
		case h.none && time.Since(last) > quiet:
			return fmt.Errorf("nothing heard of %q for %s", t.match, quiet)
		case h.none:
			continue
		}
		last = time.Now()
		if h.Type == protocol.TypeMatchFound {
			t.of.mu.Lock()
			t.of.arena = h.Match
			t.of.mu.Unlock()
		}
		if h.Type == protocol.TypeMatchOver {
			return nil
		}
		if err := take(h); err != nil {
			return err
		}
	}
}

// fetch makes a request. The server must answer it with the given status and JSON.
func (p *person) fetch(client *http.Client, r *http.Request, status int, into any) error {
	defer client.CloseIdleConnections()
	return fetch(client, r, status, into)
}

// errOverloaded is a deliberate refusal of an overloaded server. Such a server prefers
// players in matches to readers and to new guests.
var errOverloaded = errors.New("the server is overloaded")

// fetch makes a request with a client that stays open.
func fetch(client *http.Client, r *http.Request, status int, into any) error {
	ctx, cancel := context.WithTimeout(r.Context(), replyTimeout)
	defer cancel()
	answer, err := client.Do(r.WithContext(ctx))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(answer.Body); err != nil {
		return err
	}
	if answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "" {
		return fmt.Errorf("%s %s: %w: %.200s", r.Method, r.URL.Path, errOverloaded, body.Bytes())
	}
	if answer.StatusCode != status {
		return fmt.Errorf("%s %s: %s: %.200s", r.Method, r.URL.Path, answer.Status, body.Bytes())
	}
	return json.Unmarshal(body.Bytes(), into)
}
