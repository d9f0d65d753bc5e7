package control

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// The pauses between the requests of a person.
const (
	readEvery   = 300 * time.Millisecond
	pingEvery   = 400 * time.Millisecond
	arriveEvery = 1500 * time.Millisecond
)

// read reads leaderboards and profiles.
func (p *person) read() error {
	client := p.client()
	defer client.CloseIdleConnections()
	paths := []string{"/leaderboards/all?limit=50", "/leaderboards/7d", "/leaderboards", "/leaderboards/day?order=score"}
	for n := 0; p.of.pause(readEvery); n++ {
		r, err := http.NewRequestWithContext(p.of.life, http.MethodGet, p.of.URL+"/v1/games/demo"+paths[n%len(paths)], nil)
		if err != nil {
			return err
		}
		at := time.Now()
		var page map[string]json.RawMessage
		err = fetch(client, r, http.StatusOK, &page)
		if errors.Is(err, errOverloaded) {
			p.of.shed.Add(1)
			continue
		}
		if err != nil {
			return err
		}
		p.of.reads.add(time.Since(at))
		if len(page) == 0 {
			return fmt.Errorf("%s was answered with nothing", r.URL.Path)
		}
	}
	return nil
}

// watch watches a leaderboard and sends pings.
func (p *person) watch() error {
	t, err := p.connect("player")
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.settle("board.watch", map[string]any{"window": "all"}); err != nil {
		return err
	}
	for p.of.pause(pingEvery) {
		at := time.Now()
		if err := t.settle(protocol.TypePing, protocol.Ping{At: json.RawMessage("1")}); err != nil {
			return err
		}
		p.of.pongs.add(time.Since(at))
	}
	return nil
}

// makeNewGuests makes one guest after another: each connects and leaves.
func (p *person) makeNewGuests() error {
	for n := 0; p.of.pause(arriveEvery); n++ {
		at := time.Now()
		err := (&person{of: p.of, from: address(2000 + 10*(n%50))}).connectWithRetry()
		if why, ok := errors.AsType[*websocket.CloseError](err); errors.Is(err, errOverloaded) || ok && why.Code == protocol.CloseOverloaded {
			p.of.shed.Add(1)
			continue
		}
		if err != nil {
			return err
		}
		p.of.newGuests.add(time.Since(at))
	}
	return nil
}

func (p *person) connectWithRetry() error {
	ctx, cancel := context.WithTimeout(p.of.life, replyTimeout)
	defer cancel()
	body := `{"device":"` + rand.Text() + rand.Text()[:6] + `"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.of.URL+"/v1/games/demo/guests", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	var g player.Guest
	if err := p.fetch(p.client(), r, http.StatusCreated, &g); err != nil {
		return err
	}
	conn, err := player.Dialer{From: p.from}.Connect(ctx, p.of.URL, g, nil)
	if err != nil {
		return err
	}
	return conn.Close()
}
