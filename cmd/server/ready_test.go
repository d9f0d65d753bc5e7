package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// unlimitedReadsConfig is fastDuelsConfig without limits on reads, so a busy node refuses none.
var unlimitedReadsConfig = strings.Replace(fastDuelsConfig, "limits: {", "limits: {reads_per_second_per_address: 0, ", 1)

// TestReadsAreCompleteOnceANodeIsReady starts real processes. From the first request after
// /readyz returns 200, each read must give the same answer as later. The test covers an empty
// and a full ledger, embedded and real stores, and an emptied Redis.
func TestReadsAreCompleteOnceANodeIsReady(t *testing.T) {
	t.Parallel()
	file := configFile(t, unlimitedReadsConfig)
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		args := []string{"--config=" + file, "--data=" + db.Dir, "--database=" + db.URL}
		emptyRedis := func() {}
		if db.URL != "" {
			cache := testenv.Redis(t)
			args = append(args, "--redis="+cache.URL)
			emptyRedis = func() { redisCommand(t, cache, "FLUSHALL") }
		}
		checkStarts := func(player string, ranked bool) {
			checkReadsAfterStart(t, args, player, ranked)
			emptyRedis()
			checkReadsAfterStart(t, args, player, ranked)
		}
		checkStarts("p_nobody", false)
		p := startProcess(t, args...)
		guest := playDuels(t, p.url, 2)[0].id
		checkReads(t, p, guest, true)
		p.stopAndWait(t)
		checkStarts(guest, true)
	})
}

// checkReadsAfterStart starts a node, waits until it reports that it is ready, and makes all reads.
func checkReadsAfterStart(t *testing.T, args []string, player string, ranked bool) {
	t.Helper()
	p := startProcess(t, args...)
	waitUntil(t, "the node is ready", func() bool { return get(t, p.url+"/readyz", nil) == http.StatusOK })
	checkReads(t, p, player, ranked)
	p.stopAndWait(t)
}

func (p *nodeProcess) stopAndWait(t *testing.T) {
	t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Fatalf("the process ended with %d\n%s", code, p.log)
	}
}

// checkReads makes each read twice, and both answers must be equal. If ranked, the
// player must be on the leaderboards.
func checkReads(t *testing.T, p *nodeProcess, player string, ranked bool) {
	t.Helper()
	wantPlayer := http.StatusNotFound
	if ranked {
		wantPlayer = http.StatusOK
	}
	var list leaderboard.Listing
	demo := p.url + "/v1/games/demo"
	if status := get(t, demo+"/leaderboards", &list); status != http.StatusOK || len(list.Windows) != 4 || len(list.Kinds) != 2 {
		t.Fatalf("the first request: %d, %+v", status, list)
	}
	reads := map[string]int{
		demo + "/leaderboards/day?date=" + list.Day:    http.StatusOK,
		demo + "/leaderboards/day?date=2020-01-01":     http.StatusOK,
		demo + "/players/" + player:                    wantPlayer,
		demo + "/players/" + player + "/matches":       wantPlayer,
		demo + "/nicknames/Somebody%20Else":            http.StatusOK,
		demo + "/leaderboards/nowhere":                 http.StatusNotFound,
		demo + "/leaderboards/all/p_0?explain=1":       http.StatusNotFound,
		demo + "/leaderboards/all?players=p_0,p_1,p_2": http.StatusOK,
	}
	for _, w := range list.Windows {
		for _, order := range w.Orders {
			for _, kind := range list.Kinds {
				board := fmt.Sprintf("%s/leaderboards/%s?order=%s&kind=%s", demo, w.ID, order, kind)
				standing := strings.Replace(board, "?", "/"+player+"?", 1)
				wantStanding := wantPlayer
				if kind == leaderboard.Teams || order == leaderboard.ByAccuracy || order == leaderboard.ByTime { // these leaderboards need more answers
					wantStanding = http.StatusNotFound
				}
				reads[board], reads[board+"&limit=1"], reads[board+"&players="+player] = http.StatusOK, http.StatusOK, http.StatusOK
				reads[standing], reads[standing+"&explain=1"], reads[board+"&around="+player] = wantStanding, wantStanding, wantStanding
			}
		}
	}
	firstBodies := make(map[string]string)
	for read, want := range reads {
		r := send(t, http.MethodGet, read, "", nil)
		if firstBodies[read] = string(r.body); r.status != want {
			t.Errorf("first GET %s: %s, want %d", read, r, want)
		}
	}
	watchAll(t, p, list)
	for read := range reads {
		if r := send(t, http.MethodGet, read, "", nil); string(r.body) != firstBodies[read] {
			t.Errorf("GET %s: first %s, then %s", read, firstBodies[read], r)
		}
	}
}

// watchAll watches every leaderboard, one after the other. Each watch must get a push.
func watchAll(t *testing.T, p *nodeProcess, list leaderboard.Listing) {
	t.Helper()
	c := newPlayer(t, p.url)
	defer c.Close()
	for _, w := range list.Windows {
		for _, order := range w.Orders {
			for _, kind := range list.Kinds {
				watch := protocol.BoardWatch{Window: string(w.ID), Order: string(order), Kind: string(kind)}
				if f := request(t, c, protocol.TypeBoardWatch, watch); f.Type == protocol.TypeError {
					t.Fatalf("%+v: %s", watch, f.Raw)
				}
				page := readPush[leaderboard.Page](t, c, protocol.TypeBoard)
				if page.Window != w.ID || page.Order != order || page.Kind != kind {
					t.Errorf("page %+v was pushed for the watch %+v", page, watch)
				}
				request(t, c, protocol.TypeBoardUnwatch, watch)
			}
		}
	}
}

// A rebuild refuses no reads. After Redis was emptied, only the leaderboards are unavailable until
// they are rebuilt, and the node stays ready.
func TestLeaderboardRebuildsRefuseNoReads(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		flags := cli.Flags{Config: configFile(t, unlimitedReadsConfig), Data: &db.Dir, Database: &db.URL}
		var cache *testenv.Server
		if db.URL != "" {
			cache = testenv.Redis(t)
			flags.Redis = &cache.URL
		}
		node := startNode(t, flags)
		guest := playDuels(t, node.url, 1)[0].id
		stop := startReaders(t, node.url, guest)
		for range 10 {
			node.run(t, 0, "boards", "rebuild", "--wait", "--game=demo")
		}
		stop()
		if cache == nil {
			return
		}
		redisCommand(t, cache, "FLUSHALL")
		waitUntil(t, "the leaderboards are rebuilt", func() bool {
			if r := send(t, http.MethodGet, node.url+"/readyz", "", nil); r.status != http.StatusOK {
				t.Fatalf("a node whose leaderboards are lost is not ready: %s", r)
			}
			return get(t, node.url+"/v1/games/demo/leaderboards/all/"+guest, nil) == http.StatusOK
		})
	})
}

// startReaders reads leaderboards at a node until stop is called. A refused read fails the test.
func startReaders(t *testing.T, url, player string) (stop func()) {
	t.Helper()
	board := url + "/v1/games/demo/leaderboards"
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var reads atomic.Int64
	for _, path := range []string{"", "/all?limit=2", "/day?order=score", "/7d/" + player, "/30d?around=" + player} {
		readers.Go(func() {
			for ctx.Err() == nil {
				if r := send(t, http.MethodGet, board+path, "", nil); r.status != http.StatusOK {
					t.Errorf("%s: %s", path, r)
					return
				}
				reads.Add(1)
			}
		})
	}
	return func() {
		cancel()
		readers.Wait()
		if reads.Load() < 100 {
			t.Errorf("only %d reads were made", reads.Load())
		}
	}
}
