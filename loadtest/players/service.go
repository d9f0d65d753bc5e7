package players

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
	"laststand/loadtest/client"
)

// httpClient returns an HTTP client that connects from the address of a new client.
func (g *Group) httpClient() (c *http.Client, n int) {
	n = g.number()
	transport := &http.Transport{MaxIdleConnsPerHost: 2}
	if from := g.dialer(n); from != nil {
		transport.DialContext = from.DialContext
	}
	return &http.Client{Timeout: g.ReplyTimeout, Transport: transport}, n
}

// pages are the leaderboard pages that readers request.
var pages = []string{"/all?limit=50", "/7d", "", "/day?order=score", "/all?order=accuracy", "/30d?limit=100"}

// AddReaders starts n readers of leaderboards over HTTP.
func (g *Group) AddReaders(n int) {
	for range n {
		g.tasks.Go(g.readBoards)
	}
}

// readBoards reads one leaderboard page after another.
func (g *Group) readBoards() {
	httpClient, n := g.httpClient()
	defer httpClient.CloseIdleConnections()
	dice := g.newDice(n)
	g.pause(time.Duration(dice.Int64N(int64(g.ReadInterval))))
	for ; g.pause(g.ReadInterval); n++ {
		var page struct {
			Entries []struct {
				Rank int `json:"rank"`
			} `json:"entries"`
		}
		url := g.server(dice, "") + "/v1/games/demo/leaderboards" + pages[n%len(pages)]
		askedAt := time.Now()
		if err := g.get(g.closing, httpClient, url, &page); err != nil {
			g.noteRefusal("board", err)
			continue
		}
		g.Stats.Add(Board, time.Since(askedAt))
		ranks := make([]int, len(page.Entries))
		for i, e := range page.Entries {
			ranks[i] = e.Rank
		}
		if difference := checker.CheckRanks(ranks); difference != "" {
			g.Checker.Violations.Add("%s: %s", url, difference)
		}
	}
}

func (g *Group) get(ctx context.Context, httpClient *http.Client, url string, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return client.DoJSON(httpClient, r, http.StatusOK, v)
}

// noteRefusal counts a request that failed. An overloaded server prefers players in
// matches to readers and new guests, so a strict client tolerates only that.
func (g *Group) noteRefusal(what string, err error) {
	if g.closing.Err() != nil {
		return
	}
	g.Stats.Count(what+" "+outcome(err), 1)
	refused, _ := errors.AsType[*client.StatusError](err)
	closed, _ := errors.AsType[*websocket.CloseError](err)
	isShed := refused != nil && refused.Status == http.StatusServiceUnavailable || closed != nil && closed.Code == protocol.CloseOverloaded
	if g.Strict && !isShed {
		g.Checker.Violations.Add("%s: %v", what, err)
	}
	if isShed {
		g.Stats.Count(Shed, 1)
	}
}

// Shed is the name of the count of reads and new guests that an overloaded server
// refused.
const Shed = "shed"

// AddNewGuests makes a new guest in each period of the given length. Each connects and
// leaves.
func (g *Group) AddNewGuests() {
	g.tasks.Go(func() {
		for g.pause(g.NewGuestPeriod) {
			startedAt := time.Now()
			if err := g.arrive(); err != nil {
				g.noteRefusal("new guest", err)
				continue
			}
			g.Stats.Add(NewGuest, time.Since(startedAt))
		}
	})
}

// arrive makes a guest, connects it and disconnects it.
func (g *Group) arrive() error {
	n := g.number()
	ctx, cancel := context.WithTimeout(g.life, g.ReplyTimeout)
	defer cancel()
	server := g.server(g.newDice(n), "")
	guest, err := client.CreateGuest(ctx, server, "demo", "")
	if err != nil {
		return err
	}
	p, err := client.Dialer{LocalDialer: g.dialer(n)}.Connect(ctx, server, guest, nil)
	if err != nil {
		return err
	}
	return p.Close()
}

// maxBatch is the highest number of behaviours in one request.
const maxBatch = 100

// AddBehaviours posts behaviours at a rate, as a game's own service does.
func (g *Group) AddBehaviours(perSecond float64) {
	g.tasks.Go(func() {
		token, err := g.Token("service", "load")
		if err != nil {
			g.Checker.Violations.Add("%v", err)
			return
		}
		httpClient, _ := g.httpClient()
		defer httpClient.CloseIdleConnections()
		size := min(max(int(perSecond/10), 1), maxBatch)
		tick := time.NewTicker(time.Duration(float64(size) / perSecond * float64(time.Second)))
		defer tick.Stop()
		for first := 0; ; first += size {
			select {
			case <-g.closing.Done():
				return
			case <-tick.C:
			}
			if err := g.postBehaviours(httpClient, token, first, size); err != nil {
				g.Stats.Count("behaviour "+outcome(err), 1)
			}
		}
	})
}

// postBehaviours posts n behaviours. The server must answer for all of them: each is
// accepted, or dropped at intake.
func (g *Group) postBehaviours(httpClient *http.Client, token string, first, n int) error {
	sentAt := time.Now()
	var body bytes.Buffer
	body.WriteString(`{"behaviours":[`)
	for i := range n {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"id":"load_%d","type":"login","at":%d,"account":"guest","data":{"level":%d}}`, first+i, sentAt.UnixMilli(), i)
	}
	body.WriteString(`]}`)
	r, err := http.NewRequestWithContext(g.life, http.MethodPost, g.Servers()[0]+"/v1/games/demo/behaviours", &body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	var answer struct {
		Accepted int64            `json:"accepted"`
		Dropped  map[string]int64 `json:"dropped"`
	}
	if err := client.DoJSON(httpClient, r, http.StatusAccepted, &answer); err != nil {
		if _, refused := errors.AsType[*client.StatusError](err); !refused && g.life.Err() == nil {
			g.Checker.Violations.Add("it is unknown whether %d behaviours were accepted: %v", n, err)
		}
		return err
	}
	g.Stats.Add(Behaviour, time.Since(sentAt))
	counted := answer.Accepted
	for reason, dropped := range answer.Dropped {
		counted += dropped
		g.Stats.Count("behaviour dropped "+reason, dropped)
	}
	if counted != int64(n) {
		g.Checker.Violations.Add("%d behaviours were posted, and answered with %+v", n, answer)
	}
	g.Posted.Add(counted)
	return nil
}
