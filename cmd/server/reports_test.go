package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/eventq/redisqueue"
	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/redisx"
)

// reports are what the games of a house report, from the post to the receiver.
type reports struct {
	house
	*receiver
	t      *testing.T
	games  []string
	desk   *redisqueue.Store
	conn   *redisx.Conn
	tokens map[string]string   // of a service, by game
	posted map[string][]string // ids, in order
	series string              // of ids
}

// swift are settings of behaviours by which nothing waits long.
const swift = "batch: {flush_interval: 50ms}, rate: {per_second: 1000, burst: 1000}"

// newReports makes a house whose games have these settings, and a webhook.
func newReports(t *testing.T, redis string, settings map[string]string) *reports {
	t.Helper()
	r := &reports{receiver: newReceiver(t), t: t, tokens: map[string]string{}, posted: map[string][]string{}}
	text := "games:\n"
	for game, own := range settings {
		r.games = append(r.games, game)
		text += fmt.Sprintf("  %s: {banks: [small], duel: {questions: 1, time_limit_ms: 60000, countdown_ms: 1000, reveal_ms: 0, bot_after_ms: 0}, "+
			"behaviours: {%s, sink: {type: webhook, url: %q, secret_file: hook.key, allow_private: true}}}\n", game, own, r.URL+"/"+game)
	}
	slices.Sort(r.games)
	r.house = newHouse(t, redis, text)
	beside(t, r.config, "hook.key", oldWebhookKey)
	bankCommand(t, r.db, "import", "--bank=small", questionFile(t, "en", 10)) // read in no time
	conn, err := redisx.Open(t.Context(), redisx.Config{URL: redis})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r.conn, r.desk = conn, redisqueue.New(conn.Client)
	r.mintAll()
	return r
}

// mintAll gets a service's token of each game.
func (r *reports) mintAll() {
	r.t.Helper()
	flags := &cli{Config: r.config, Data: &r.db.Dir, Database: &r.db.URL}
	err := withLedger(flags, func(ctx context.Context, c *config, l *ledger.Ledger) error {
		tokens, err := openTokens(ctx, c, l, c.gameNames(), nil)
		for _, game := range r.games {
			if err == nil {
				r.tokens[game], _, err = tokens.Mint(identity.Claims{Subject: "poster", Game: game, Role: identity.RoleService}, time.Hour)
			}
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// post posts so many new behaviours of a game, to the first of the nodes, and
// again to the next while one does not take them.
func (r *reports) post(game string, count int, nodes ...string) {
	r.t.Helper()
	first := len(r.posted[game])
	var body strings.Builder
	for i := range count {
		id := fmt.Sprintf("%s-%s%06d", game, r.series, first+i)
		r.posted[game] = append(r.posted[game], id)
		fmt.Fprintf(&body, `{"id":%q,"type":"answer","at":%d,"account":"guest"}`+"\n", id, time.Now().UnixMilli())
	}
	tries := 0
	eventually(r.t, "behaviours of "+game+" are taken", func() bool {
		status, said := r.postTo(nodes[tries%len(nodes)], game, body.String())
		tries++
		if status == http.StatusAccepted && (tries == 1 && said.Accepted != count || said.Accepted+said.Dropped[eventq.Duplicate] != count) {
			r.t.Errorf("of %d behaviours of %s: %+v", count, game, said)
		}
		return status == http.StatusAccepted
	})
}

// postTo makes one try; the status is 0 where there is no answer.
func (r *reports) postTo(url, game, lines string) (status int, said eventq.PostResult) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, url+"/v1/games/"+game+"/behaviours", bytes.NewBufferString(lines))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-ndjson")
	q.Header.Set("Authorization", "Bearer "+r.tokens[game])
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, said
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil && answer.StatusCode == http.StatusAccepted {
		r.t.Errorf("%s: %v", game, err)
	}
	return answer.StatusCode, said
}

// counts are those of a game as they stand in Redis, which always add up.
func (r *reports) counts(game string) eventq.Counts {
	r.t.Helper()
	all, err := r.desk.Status(r.t.Context(), []string{game}, time.Now().UnixMilli())
	if err != nil {
		r.t.Fatal(err)
	}
	r.addUp(all[0])
	return all[0].Counts
}

func (r *reports) addUp(s eventq.Status) {
	r.t.Helper()
	c := s.Counts
	sum := c.Sent + c.Queued + c.InFlight
	for _, n := range c.Dropped {
		sum += n
	}
	if c.Offered != sum || min(c.Sent, c.Queued, c.InFlight) < 0 {
		r.t.Errorf("%s: %+v does not add up", s.Game, c)
	}
}

// watched adds up the counts of all games again and again, while Redis answers,
// until stop.
func (r *reports) watched() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	looks := 0
	var watch sync.WaitGroup
	watch.Go(func() {
		for ctx.Err() == nil && !r.t.Failed() {
			all, err := r.desk.Status(ctx, r.games, time.Now().UnixMilli())
			for i := 0; err == nil && i < len(all); i++ {
				r.addUp(all[i])
				looks++
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		watch.Wait()
		if looks == 0 {
			r.t.Error("nobody looked")
		}
	})
}

// idle waits until nothing of a game is queued or in flight, and gives its
// counts then.
func (r *reports) idle(game string) (c eventq.Counts) {
	r.t.Helper()
	eventually(r.t, "all of "+game+" is reported", func() bool {
		c = r.counts(game)
		return c.Queued+c.InFlight == 0
	})
	return c
}

// once holds that what was posted of a game was sent but for lost ones, that
// each came once, lost or not, and in order unless some had to be tried again.
func (r *reports) once(game string, lost int) {
	r.t.Helper()
	c := r.idle(game)
	posted, dropped := int64(len(r.posted[game])), c.Dropped[eventq.NodeLost]
	if c.Sent != posted-int64(lost) || dropped != int64(lost) || c.Offered != posted+c.Dropped[eventq.Duplicate] {
		r.t.Errorf("%s: %+v; %d were posted, and %d of them lost", game, c, posted, lost)
	}
	var ids []string
	again := false
	for _, m := range r.of(game) {
		again = again || len(m.tries) > 1
		for _, b := range m.items {
			ids = append(ids, b.ID)
		}
	}
	if again {
		slices.Sort(ids)
	}
	if !slices.Equal(ids, r.posted[game]) {
		r.t.Errorf("of %s came\n%v\nposted was\n%v", game, ids, r.posted[game])
	}
}
