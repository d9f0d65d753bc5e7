package players

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"laststand/internal/protocol"
)

// service is a client that uses only HTTP.
type service struct {
	*Group
	http *http.Client // connects from the address of a client
	n    int          // number of the client
	dice *rand.Rand
}

// startService runs a new service until the group closes.
func (g *Group) startService(run func(*service)) {
	s := &service{Group: g}
	s.n, s.dice = g.newClient()
	transport := &http.Transport{MaxIdleConnsPerHost: 2}
	if from := g.Dialer(s.n); from != nil {
		transport.DialContext = from.DialContext
	}
	s.http = &http.Client{Timeout: g.ReplyTimeout, Transport: transport}
	g.tasks.Go(func() {
		defer s.http.CloseIdleConnections()
		run(s)
	})
}

// AddReaders starts n readers of leaderboards over HTTP.
func (g *Group) AddReaders(n int) {
	for range n {
		g.startService((*service).readBoards)
	}
}

// pages are the leaderboard pages that readers request.
var pages = []string{"/all?limit=50", "/7d", "", "/day?order=score", "/all?order=accuracy", "/30d?limit=100"}

// readBoards reads one leaderboard page after another.
func (s *service) readBoards() {
	s.pause(time.Duration(s.dice.Int64N(int64(s.ReadInterval))))
	for n := s.n; s.pause(s.ReadInterval); n++ {
		var page struct{ Entries []struct{ Rank int } }
		url := s.server(s.dice, "") + "/v1/games/demo/leaderboards" + pages[n%len(pages)]
		askedAt := time.Now()
		err := Call{Client: s.http, URL: url}.Do(s.closing, &page)
		if err != nil {
			s.noteRefusal("board", err)
			continue
		}
		s.Stats.Add(Board, time.Since(askedAt))
		isSorted := slices.IsSortedFunc(page.Entries, func(a, b struct{ Rank int }) int { return a.Rank - b.Rank })
		s.Checker.Violations.AddIf(!isSorted, "%s has the ranks %v", url, page.Entries)
	}
}

// Shed is the name of the count of reads and new guests that an overloaded server
// refused.
const Shed = "shed"

// noteRefusal counts a request that failed. An overloaded server prefers players in
// matches to readers and new guests, so a strict client tolerates only that.
func (s *service) noteRefusal(what string, err error) {
	if s.closing.Err() != nil {
		return
	}
	s.Stats.Count(what+" "+outcome(err), 1)
	refused, _ := errors.AsType[Response](err)
	if refused.Status == http.StatusServiceUnavailable || CloseCode(err) == protocol.CloseOverloaded {
		s.Stats.Count(Shed, 1)
	} else if s.Strict {
		s.Checker.Violations.Add("%s: %v", what, err)
	}
}

// AddNewGuests makes a new guest in each NewGuestPeriod. Each connects and leaves.
func (g *Group) AddNewGuests() {
	g.startService(func(s *service) {
		for s.pause(s.NewGuestPeriod) {
			startedAt := time.Now()
			if err := s.arrive(); err != nil {
				s.noteRefusal("new guest", err)
				continue
			}
			s.Stats.Add(NewGuest, time.Since(startedAt))
		}
	})
}

// arrive makes a guest, connects it and disconnects it.
func (s *service) arrive() error {
	ctx, cancel := context.WithTimeout(s.life, s.ReplyTimeout)
	defer cancel()
	server := s.server(s.dice, "")
	guest, err := CreateGuest(ctx, server, "demo", "")
	if err != nil {
		return err
	}
	n, _ := s.newClient()
	p, err := Dialer{LocalDialer: s.Dialer(n)}.Connect(ctx, server, guest, nil)
	if err != nil {
		return err
	}
	return p.Close()
}

// maxBatch is the highest number of behaviours in one request.
const maxBatch = 100

// AddBehaviours posts behaviours at a rate, as a game's own service does.
func (g *Group) AddBehaviours(perSecond float64) {
	g.startService(func(s *service) {
		token, err := s.Token("service", "load")
		if err != nil {
			s.Checker.Violations.Add("%v", err)
			return
		}
		size := min(max(int(perSecond/10), 1), maxBatch)
		limiter := rate.NewLimiter(rate.Limit(perSecond/float64(size)), 1)
		for first := 0; limiter.Wait(s.closing) == nil; first += size {
			if err := s.postBehaviours(token, first, size); err != nil {
				s.Stats.Count("behaviour "+outcome(err), 1)
			}
		}
	})
}

// postBehaviours posts n behaviours. The server must answer for all of them: each is
// accepted, or dropped at intake.
func (s *service) postBehaviours(token string, first, n int) error {
	sentAt := time.Now()
	items := make([]map[string]any, n)
	for i := range items {
		items[i] = map[string]any{"id": fmt.Sprintf("load_%d", first+i), "type": "login", "at": sentAt.UnixMilli(), "account": "guest", "data": map[string]int{"level": i}}
	}
	var answer struct {
		Accepted int64            `json:"accepted"`
		Dropped  map[string]int64 `json:"dropped"`
	}
	post := Call{
		Client: s.http, Method: http.MethodPost, URL: s.Servers()[0] + "/v1/games/demo/behaviours", Token: token, Body: map[string]any{"behaviours": items},
	}
	if err := post.Do(s.life, &answer); err != nil {
		_, isRefused := errors.AsType[Response](err)
		s.Checker.Violations.AddIf(!isRefused && s.life.Err() == nil, "it is unknown whether %d behaviours were accepted: %v", n, err)
		return err
	}
	s.Stats.Add(Behaviour, time.Since(sentAt))
	counted := answer.Accepted
	for reason, dropped := range answer.Dropped {
		counted += dropped
		s.Stats.Count("behaviour dropped "+reason, dropped)
	}
	s.Checker.Violations.AddIf(counted != int64(n), "%d behaviours were posted, and answered with %+v", n, answer)
	s.Posted.Add(counted)
	return nil
}
