package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/config"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// schoolSize returns how many players TestASchoolBehindOneAddress has: LASTSTAND_SCHOOL, or
// 60. A tenth of them play duels with each other.
func schoolSize(t *testing.T) int {
	t.Helper()
	text, set := os.LookupEnv("LASTSTAND_SCHOOL")
	if !set {
		return 60
	}
	size := testenv.Need(strconv.Atoi(text))(t)
	return size
}

// schoolConfig is the configuration of a game with short pauses and the default limits.
const schoolConfig = `
games:
  demo:
    duel: {questions: 3, countdown_ms: 200, reveal_ms: 100}
    arena: {countdown_ms: 200, reveal_ms: 100}
`

// The default limits of an address let 2,000 pupils and 100 teachers connect and become guests
// within a minute. Pupils use the code of an arena, which accepts a burst of as many as it has
// places.
func TestDefaultLimitsAllowALargeSchool(t *testing.T) {
	t.Parallel()
	const people = 2100
	c := testenv.Need(config.Read(""))(t)
	quotas := c.Limits
	for name, limit := range map[string]int64{
		"connections_per_address": quotas.ConnectionsPerAddress, "hellos_per_minute_per_address": int64(quotas.HellosPerMinutePerAddress),
		"guests_per_day_per_address": int64(quotas.GuestsPerDayPerAddress), "guest_requests_per_minute_per_address, 5 minutes at once": 5 * int64(quotas.GuestRequestsPerMinutePerAddress),
		"guests_per_minute_per_arena": int64(quotas.GuestsPerMinutePerArena), "new guests at once": int64((&limits{config: &c}).arenaGuestBurst()), "max_players": int64(config.DefaultGame().Arena.MaxPlayers),
		"matches_per_day_per_address, of 10 matches each": int64(quotas.MatchesPerDayPerAddress) / 10,
	} {
		if limit < people {
			t.Errorf("%s is %d, which stops %d people", name, limit, people)
		}
	}
}

// With the codes of many arenas an address cannot create a larger burst of guests than
// connections_per_address. Each arena has places for more.
func TestManyArenasDoNotRaiseTheGuestBurstPerAddress(t *testing.T) {
	t.Parallel()
	redis := testenv.Redis(t).URL
	node := startNode(t, cli.Flags{Data: new(t.TempDir()), Redis: &redis, Config: configFile(t, smallBurstConfig)})
	teacher := newGuests(t, []string{node.url}, 1)[0]
	created := 0
	for range 10 {
		code := createArena(t, node.url, teacher.Token, quickArena).Code
		for range 8 {
			status, _ := requestJSON(t, "POST", node.url+"/v1/games/demo/guests", "", map[string]string{"device": rand.Text(), "arena": code})
			if status == http.StatusCreated {
				created++
			}
		}
	}
	if created < 20 || created > 30 {
		t.Errorf("a burst of %d guests was accepted, want 20 to 30", created)
	}
}

// smallBurstConfig lets an address create a burst of 20 guests and few guests per minute.
const smallBurstConfig = `
games: {demo: {}}
limits: {connections_per_address: 20, guests_per_minute_per_address: 2, arena_guests_per_minute_per_address: 1}
`

// Players of a school behind one address become guests with the code of an arena, connect, join
// and play. Some play duels. The default limits refuse none of them.
func TestASchoolBehindOneAddress(t *testing.T) {
	t.Parallel()
	size := schoolSize(t)
	dir, redis := t.TempDir(), testenv.Redis(t).URL
	node := startNode(t, cli.Flags{Data: &dir, Redis: &redis, Config: configFile(t, schoolConfig)})
	teacher := newGuests(t, []string{node.url}, 1)[0]
	created := createArena(t, node.url, teacher.Token, protocol.NewArena{
		Mode: "survival", Name: "Lesson", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 2, Lang: "en"},
	})
	host := joinArena(t, node.url, teacher, protocol.ArenaJoin{Code: created.Code, As: "host"})
	pupils := make([]*pupil, size)
	var joined, finished sync.WaitGroup
	for i := range pupils {
		p := &pupil{url: node.url, code: created.Code, playsDuel: i%10 == 0}
		pupils[i] = p
		joined.Add(1)
		finished.Go(func() { p.err = p.playArenaAndDuel(t.Context(), time.Duration(i)*time.Minute/2000, joined.Done) })
	}
	host.waitUntilAllJoined(t, &joined)
	host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: created.ArenaID})
	finished.Wait()
	duelsOver := 0
	for i, p := range pupils {
		if p.err != nil {
			t.Errorf("pupil %d: %v", i, p.err)
		}
		duelsOver += p.duelsOver
	}
	if duelsOver == 0 {
		t.Error("no duel was played")
	}
	if refused := sumMetric(t, node.opsURL, "laststand_limit_refusals_total"); refused != 0 {
		t.Errorf("limits refused %d times", refused)
	}
	t.Logf("%d pupils played, %d ends of duels were seen; the server was too busy for them %d times",
		size, duelsOver, sumMetric(t, node.opsURL, "laststand_load_shed_refusals_total"))
}

// waitUntilAllJoined waits until all players have joined. The host sends a ping every 10 s, because the
// server closes a session that is silent for 75 s.
func (c *matchClient) waitUntilAllJoined(t *testing.T, joined *sync.WaitGroup) {
	t.Helper()
	allJoined := make(chan struct{})
	go func() {
		joined.Wait()
		close(allJoined)
	}()
	for {
		select {
		case <-allJoined:
			return
		case <-time.After(10 * time.Second):
			request(t, c.Player, protocol.TypePing, protocol.Ping{})
		}
	}
}

// pupil plays in the arena and then possibly a duel.
type pupil struct {
	url, code string
	playsDuel bool
	duelsOver int
	err       error
}

// playArenaAndDuel starts after a delay. It calls joined once: when the pupil has joined the arena, or
// after an error.
func (p *pupil) playArenaAndDuel(ctx context.Context, delay time.Duration, joined func()) (err error) {
	defer testenv.Recover(&err)
	markJoined := sync.OnceFunc(joined)
	defer markJoined()
	time.Sleep(delay) // pupils do not all start at the same time
	c := p.connect(ctx, p.createGuest(ctx))
	defer func() { _ = c.Close() }()
	p.requestUntilAccepted(c, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: p.code}, protocol.TypeArenaJoined)
	markJoined()
	p.play(c)
	if p.playsDuel {
		p.requestUntilAccepted(c, protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"}, protocol.TypeDuelQueued)
		p.play(c)
		p.duelsOver++
	}
	return nil
}

// retryWhileBusy calls try again while it returns that the server is busy, up to a minute.
func retryWhileBusy(request string, try func() (isBusy bool)) {
	const tries, pause = 60, time.Second
	for range tries {
		if !try() {
			return
		}
		time.Sleep(pause)
	}
	testenv.FailIf(true, "%s: the server stayed busy", request)
}

// createGuest creates a guest with the code of the arena.
func (p *pupil) createGuest(ctx context.Context) (g player.Guest) {
	body := fmt.Sprintf(`{"device":%q,"arena":%q}`, rand.Text(), p.code)
	retryWhileBusy("POST guests", func() bool {
		r := testenv.Must(http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/games/demo/guests", strings.NewReader(body)))
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		testenv.FailIf(err != nil, "POST guests: %v", err)
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusServiceUnavailable {
			return true
		}
		testenv.FailIf(answer.StatusCode != http.StatusCreated, "POST guests: %s", answer.Status)
		testenv.MustDo(json.NewDecoder(answer.Body).Decode(&g))
		return false
	})
	return g
}

// connect connects and sends the hello.
func (p *pupil) connect(ctx context.Context, g player.Guest) (c *player.Player) {
	retryWhileBusy("hello", func() bool {
		connected, err := player.Connect(ctx, p.url, g, nil)
		if err != nil && strings.Contains(err.Error(), "1013") {
			return true
		}
		testenv.MustDo(err)
		c = connected
		return false
	})
	return c
}

// requestUntilAccepted sends a request until its reply is of wantType. It retries only while the
// server is busy.
func (p *pupil) requestUntilAccepted(c *player.Player, kind string, data any, wantType string) {
	retryWhileBusy(kind, func() bool {
		id := testenv.Must(c.Send(kind, data))
		f := testenv.Must(c.Read(time.Minute))
		for f.Re == nil || *f.Re != id {
			f = testenv.Must(c.Read(time.Minute))
		}
		if f.Type == wantType {
			return false
		}
		var e protocol.Error
		testenv.MustDo(json.Unmarshal(f.Data, &e))
		testenv.FailIf(e.Code != protocol.CodeOverloaded && e.Code != protocol.CodeUnavailable, "%s was answered with %s", kind, f.Raw)
		return true
	})
}

// play answers until the match is over.
func (p *pupil) play(c *player.Player) {
	for {
		switch f := testenv.Must(c.Read(3 * time.Minute)); f.Type {
		case protocol.TypeMatchOver:
			return
		case protocol.TypeError:
			var e protocol.Error
			testenv.MustDo(json.Unmarshal(f.Data, &e))
			testenv.FailIf(e.Code == protocol.CodeRateLimited, "an answer got %s", f.Raw)
		case protocol.TypeQuestion:
			var q protocol.Question
			testenv.MustDo(json.Unmarshal(f.Data, &q))
			testenv.Must(c.Send(protocol.TypeAnswer, protocol.Answer{Match: f.Match, Question: &q.Question, Given: player.ArbitraryAnswer(q)}))
		}
	}
}
