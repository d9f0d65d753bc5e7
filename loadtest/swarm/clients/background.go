package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/stats"
)

// keepIdle keeps a session that does nothing, or watches a board. It reconnects when the
// connection is lost. To save memory, it consists of little more than the connection.
func (c *Clients) keepIdle(nth int, watches bool) {
	n := c.Players() + len(c.ArenaGroups) + nth
	dialer := player.Dialer{From: c.dialerOf(n), Buffer: 512}
	guest, err := c.guest(c.closing, "player", fmt.Sprintf("%s_idle_%d", c.Name, nth), c.server(n))
	if err != nil {
		if c.closing.Err() == nil {
			c.addViolation("no guest could be made: %v", err)
		}
		return
	}
	for failures := 0; c.closing.Err() == nil; failures++ {
		at := time.Now()
		err := c.readConnection(dialer, guest, n, watches)
		if time.Since(at) > time.Minute { // the connection had lasted
			failures = 0
		}
		if c.closing.Err() != nil {
			return
		}
		after, ok := player.ReconnectAfter(err)
		if !ok {
			c.addViolation("%s: the connection was closed for good: %v", guest.ID, err)
			return
		}
		if !c.pause(after * time.Duration(min(1+failures, maxBackoff))) {
			return
		}
		n++
	}
}

// maxBackoff bounds the wait between tries, as a multiple of the wait that the node asks
// for. Without longer waits, all clients would return at the same time, again and again.
const maxBackoff = 8

// readConnection reads one connection of an idle session until it ends.
func (c *Clients) readConnection(dialer player.Dialer, g player.Guest, n int, watches bool) error {
	ctx, cancel := context.WithTimeout(c.closing, replyTimeout)
	at := time.Now()
	p, err := dialer.Connect(ctx, c.server(n), g, nil)
	cancel()
	c.countConnect(time.Since(at), err)
	if err != nil {
		return err
	}
	c.connected.Add(1)
	defer c.connected.Add(-1)
	defer context.AfterFunc(c.closing, func() { _ = p.Close() })()
	defer p.Close()
	if watches {
		_, err = p.Send(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"})
	}
	for err == nil {
		var raw []byte
		if raw, err = p.ReadRaw(time.Hour); err == nil && bytes.HasPrefix(raw, []byte(`{"type":"`+protocol.TypeBoard+`"`)) {
			c.stats.Count("boards pushed", 1)
		}
	}
	if c.closing.Err() == nil {
		c.stats.Count("onlooker "+outcome(err), 1)
	}
	return err
}

// httpClient returns an HTTP client that uses the nth local address.
func (c *Clients) httpClient(n int) (httpClient *http.Client, done func()) {
	transport := &http.Transport{MaxIdleConnsPerHost: 2}
	if from := c.dialerOf(n); from != nil {
		transport.DialContext = from.DialContext
	}
	return &http.Client{Timeout: replyTimeout, Transport: transport}, transport.CloseIdleConnections
}

// pages are the leaderboard pages that readers request.
var pages = []string{"all?limit=50", "7d", "day?order=score", "all?order=accuracy", "30d?limit=100"}

// readBoards reads one leaderboard page per second.
func (c *Clients) readBoards(nth int) {
	httpClient, done := c.httpClient(nth)
	defer done()
	c.pause(rand.N(time.Second)) //nolint:gosec // load is no secret
	for n := nth; c.pause(time.Second); n++ {
		var page struct {
			Entries []struct {
				Rank int `json:"rank"`
			} `json:"entries"`
		}
		at := time.Now()
		r, err := http.NewRequestWithContext(c.closing, http.MethodGet, c.server(n)+"/v1/games/demo/leaderboards/"+pages[n%len(pages)], nil)
		if err == nil {
			err = player.DoJSON(httpClient, r, http.StatusOK, &page)
		}
		if err != nil {
			if c.closing.Err() == nil {
				c.stats.Count("board "+outcome(err), 1)
			}
			continue
		}
		c.stats.Add(stats.Board, time.Since(at))
		for i := 1; i < len(page.Entries); i++ {
			if page.Entries[i].Rank < page.Entries[i-1].Rank {
				c.addViolation("%s: rank %d follows on %d", r.URL, page.Entries[i].Rank, page.Entries[i-1].Rank)
			}
		}
	}
}

// maxBatch is the highest number of behaviours in one request.
const maxBatch = 100

// postBehaviours posts behaviours, as a game's own service does.
func (c *Clients) postBehaviours() {
	token, err := testenv.Token("service", c.Name)
	if err != nil {
		c.addViolation("%v", err)
		return
	}
	httpClient, done := c.httpClient(0)
	defer done()
	each := min(max(int(c.Behaviours/10), 1), maxBatch)
	tick := time.NewTicker(time.Duration(float64(each) / c.Behaviours * float64(time.Second)))
	defer tick.Stop()
	for n := 0; c.closing.Err() == nil; n += each {
		select {
		case <-c.closing.Done():
		case <-tick.C:
			if err := c.postBatch(httpClient, token, n, each); err != nil {
				c.stats.Count("behaviour "+outcome(err), 1)
			}
		}
	}
}

func (c *Clients) postBatch(httpClient *http.Client, token string, first, n int) error {
	at := time.Now()
	var body bytes.Buffer
	body.WriteString(`{"behaviours":[`)
	for i := range n {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"id":"%s_%d","type":"login","at":%d,"account":"guest","data":{"level":%d}}`, c.Name, first+i, at.UnixMilli(), i)
	}
	body.WriteString(`]}`)
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.server(first)+"/v1/games/demo/behaviours", &body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	var took struct {
		Accepted int64            `json:"accepted"`
		Dropped  map[string]int64 `json:"dropped"`
	}
	if err := player.DoJSON(httpClient, r, http.StatusAccepted, &took); err != nil {
		if _, refused := errors.AsType[*player.StatusError](err); !refused {
			c.addViolation("whether %d behaviours count cannot be known: %v", n, err)
		}
		return err
	}
	c.stats.Add(stats.Behaviour, time.Since(at))
	all := took.Accepted
	for reason, dropped := range took.Dropped {
		all += dropped
		c.stats.Count("behaviour dropped "+reason, dropped)
	}
	if all != int64(n) {
		raw, _ := json.Marshal(took)
		c.addViolation("%d behaviours were posted, and answered with %s", n, raw)
	}
	c.posted.Add(all)
	return nil
}
