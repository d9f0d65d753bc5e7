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
	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

// reportingTest tests the reports of some games, from the post to the receiver.
type reportingTest struct {
	testCluster
	*batchReceiver
	t        *testing.T
	games    []string
	admin    *redisqueue.Store
	conn     *redisx.Conn
	posted   map[string][]string // ids of the posted behaviours by game, in order
	idSeries string              // part of the ids of posted behaviours; a new series makes new ids
}

// fastReporting are settings of behaviours with short delays.
const fastReporting = "batch: {flush_interval: 50ms}, rate: {per_second: 1000, burst: 1000}"

// newReportingTest configures games with these settings, and their webhook.
func newReportingTest(t *testing.T, redis string, settings map[string]string) *reportingTest {
	t.Helper()
	r := &reportingTest{batchReceiver: newBatchReceiver(t), t: t, posted: map[string][]string{}}
	text := "games:\n"
	for game, gameSettings := range settings {
		r.games = append(r.games, game)
		text += fmt.Sprintf("  %s: {%s, banks: [small], duel: {questions: 1, time_limit_ms: 60000, countdown_ms: 1000, reveal_ms: 0, bot_after_ms: 0}, "+
			"behaviours: {%s, sink: {type: webhook, url: %q, secret_file: hook.key, allow_private: true}}}\n", game, testenv.KeysYAML, gameSettings, r.URL+"/"+game)
	}
	slices.Sort(r.games)
	r.testCluster = newTestCluster(t, redis, text)
	testenv.WriteBeside(t, r.config, "hook.key", testenv.OldWebhookKey)
	bankCommand(t, r.db, "import", "--bank=small", questionFile(t, "en", 10)) // a small bank, which loads fast
	conn, err := redisx.Open(t.Context(), redisx.Config{URL: redis})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r.conn, r.admin = conn, redisqueue.New(conn.Client)
	testenv.WriteKey(t, r.config)
	return r
}

// post posts this many new behaviours of a game to the first node. If a node does not accept
// them, it tries the next one.
func (r *reportingTest) post(game string, count int, nodes ...string) {
	r.t.Helper()
	first := len(r.posted[game])
	var body strings.Builder
	for i := range count {
		id := fmt.Sprintf("%s-%s%06d", game, r.idSeries, first+i)
		r.posted[game] = append(r.posted[game], id)
		fmt.Fprintf(&body, `{"id":%q,"type":"answer","at":%d,"account":"guest"}`+"\n", id, time.Now().UnixMilli())
	}
	tries := 0
	waitUntil(r.t, "behaviours of "+game+" are accepted", func() bool {
		status, posted := r.postTo(nodes[tries%len(nodes)], game, body.String())
		tries++
		if status == http.StatusAccepted && (tries == 1 && posted.Accepted != count || posted.Accepted+int(posted.Dropped[eventq.Duplicate]) != count) {
			r.t.Errorf("of %d behaviours of %s: %+v", count, game, posted)
		}
		return status == http.StatusAccepted
	})
}

// postTo makes one try. The status is 0 if there is no answer.
func (r *reportingTest) postTo(url, game, lines string) (status int, posted eventq.PostResult) {
	r.t.Helper()
	request := testenv.Need(http.NewRequestWithContext(r.t.Context(), http.MethodPost, url+"/v1/games/"+game+"/behaviours", bytes.NewBufferString(lines)))(r.t)
	request.Header.Set("Content-Type", "application/x-ndjson")
	token := testenv.Need(testenv.Sign(testenv.Claims(game, "service", "poster")))(r.t)
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, posted
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&posted); err != nil && answer.StatusCode == http.StatusAccepted {
		r.t.Errorf("%s: %v", game, err)
	}
	return answer.StatusCode, posted
}

// gameCounts returns the counts of a game in Redis, which must always add up.
func (r *reportingTest) gameCounts(game string) eventq.Counts {
	r.t.Helper()
	all, err := r.admin.Status(r.t.Context(), []string{game}, time.Now().UnixMilli())
	if err != nil {
		r.t.Fatal(err)
	}
	r.checkSum(all[0])
	return all[0].Counts
}

func (r *reportingTest) checkSum(s eventq.Status) {
	r.t.Helper()
	c := s.Counts
	sum := c.Sent + c.Queued + c.InFlight
	for _, dropped := range c.Dropped {
		sum += dropped
	}
	if c.Offered != sum || min(c.Sent, c.Queued, c.InFlight) < 0 {
		r.t.Errorf("%s: %+v does not add up", s.Game, c)
	}
}

// watchCounts checks many times that the counts of all games add up, while Redis answers, until
// stop.
func (r *reportingTest) watchCounts() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	samples := 0
	var watch sync.WaitGroup
	watch.Go(func() {
		for ctx.Err() == nil && !r.t.Failed() {
			all, err := r.admin.Status(ctx, r.games, time.Now().UnixMilli())
			for i := 0; err == nil && i < len(all); i++ {
				r.checkSum(all[i])
				samples++
			}
			time.Sleep(25 * time.Millisecond)
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		watch.Wait()
		if samples == 0 {
			r.t.Error("the counts were never read")
		}
	})
}

// waitUntilIdle waits until a game has nothing queued or in flight, and returns its counts
// then.
func (r *reportingTest) waitUntilIdle(game string) (c eventq.Counts) {
	r.t.Helper()
	waitUntil(r.t, "all of "+game+" is reported", func() bool {
		c = r.gameCounts(game)
		return c.Queued+c.InFlight == 0
	})
	return c
}

// checkSentOnce checks that all posted behaviours of a game were sent, except lost ones. The
// receiver must get each once, lost or not. They must be in order unless there were retries.
func (r *reportingTest) checkSentOnce(game string, lost int) {
	r.t.Helper()
	counts := r.waitUntilIdle(game)
	posted, dropped := int64(len(r.posted[game])), counts.Dropped[eventq.NodeLost]
	if counts.Sent != posted-int64(lost) || dropped != int64(lost) || counts.Offered != posted+counts.Dropped[eventq.Duplicate] {
		r.t.Errorf("%s: %+v; %d were posted, and %d of them lost", game, counts, posted, lost)
	}
	var ids []string
	wasRetried := false
	for _, batch := range r.gameBatches(game) {
		wasRetried = wasRetried || len(batch.tries) > 1
		for _, b := range batch.items {
			ids = append(ids, b.ID)
		}
	}
	if wasRetried {
		slices.Sort(ids)
	}
	if !slices.Equal(ids, r.posted[game]) {
		r.t.Errorf("the receiver of %s got\n%v\nposted were\n%v", game, ids, r.posted[game])
	}
}
