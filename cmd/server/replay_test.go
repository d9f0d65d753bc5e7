package main

import (
	"strconv"
	"strings"
	"testing"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/players"
)

// A spectator requests a long match many times and gets all of it once. After that the same
// player gets only short replays. Redis sends the log once.
func TestReplaysOfALongMatchAreLimited(t *testing.T) {
	t.Parallel()
	const players, questions, syncs = 50, 30, 150
	server := testenv.Redis(t)
	cluster := newTestCluster(t, server.URL, fastArenasConfig)
	node := cluster.node(t)
	watcher, host := playLongMatch(t, node, players, questions)
	last := watcher.readUntilPush(t, protocol.TypeMatchOver).Seq
	before := sentBytes(t, server)

	replay := requestReplay(t, watcher.Player, watcher.match, 0, last)
	refused := 0
	for range syncs {
		f := request(t, watcher.Player, protocol.TypeMatchSync, protocol.Resume{Match: watcher.match})
		var e protocol.Error
		if readData(t, f, &e); e.Code != protocol.CodeRateLimited || e.RetryAfterMS <= 0 || e.RetryAfterMS > 30_000 {
			t.Fatalf("another replay was answered with %.200s", f.Raw)
		}
		refused++
	}
	requestReplay(t, watcher.Player, watcher.match, last-3, last)
	again := request(t, connect(t, node.url, watcher.Guest), protocol.TypeMatchSync, protocol.Resume{Match: watcher.match})
	var e protocol.Error
	if readData(t, again, &e); e.Code != protocol.CodeRateLimited {
		t.Errorf("a new connection of the same player got another replay: %.200s", again.Raw)
	}
	if got := requestReplay(t, host.Player, watcher.match, 0, last); got != replay {
		t.Error("the replay of another player differs")
	}
	if sent := sentBytes(t, server) - before; len(replay) < 64<<10 || sent > 2*len(replay)+(syncs+10)*40<<10 {
		t.Errorf("redis sent %d bytes for a match of %d, and %d refusals", sent, len(replay), refused)
	}
}

// playLongMatch plays a match that its host prolongs. It returns the host, and a spectator who has
// not read any push.
func playLongMatch(t *testing.T, node *testNode, players, questions int) (watcher, host *matchClient) {
	t.Helper()
	guests := newGuests(t, []string{node.url}, players+2)
	created := createArena(t, node.url, guests[0].Token, protocol.NewArena{
		Mode: "buzzer", Name: "Long", Pace: "host", Questions: protocol.ArenaQuestions{Count: questions},
	})
	host = joinArena(t, node.url, guests[0], protocol.ArenaJoin{Code: created.Code, As: "host"})
	watcher = joinArena(t, node.url, guests[1], protocol.ArenaJoin{Code: created.Code, As: "spectator"})
	for _, g := range guests[2:] {
		joinArena(t, node.url, g, protocol.ArenaJoin{Code: created.Code})
	}
	sendNext := func(after int) bool {
		return host.request(t, protocol.TypeArenaNext, protocol.ArenaNext{ArenaID: created.ArenaID, After: after}).Type == protocol.TypeArenaOK
	}
	host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: created.ArenaID})
	waitUntil(t, "the first question opens", func() bool { return sendNext(-1) })
	for q := range questions {
		host.readUntilPush(t, protocol.TypeQuestion)
		closeAccepted := sendNext(q)
		host.readUntilPush(t, protocol.TypeQuestionClosed)
		if !closeAccepted || !sendNext(q) {
			t.Fatalf("the host cannot close question %d or open the next", q)
		}
	}
	return watcher, host
}

// requestReplay requests a match from a number on and returns all frames up to the last number.
func requestReplay(t *testing.T, p *player.Player, match string, from, last int64) string {
	t.Helper()
	var replay strings.Builder
	f := request(t, p, protocol.TypeMatchSync, protocol.Resume{Match: match, Seq: from})
	if f.Type != protocol.TypeMatchState {
		t.Fatalf("match.sync from %d was answered with %.200s", from, f.Raw)
	}
	for seq := from; seq < last; {
		f := readUntil(t, p, "a push", func(f checker.Frame) bool { return f.Seq > 0 })
		if seq++; f.Seq != seq {
			t.Fatalf("push %d arrived, want push %d", f.Seq, seq)
		}
		replay.Write(f.Raw)
	}
	return replay.String()
}

// sentBytes returns how many bytes a Redis has sent.
func sentBytes(t *testing.T, s *testenv.Server) int {
	t.Helper()
	info, _ := redisCommand(t, s, "INFO", "stats").(string)
	_, rest, _ := strings.Cut(info, "total_net_output_bytes:")
	text, _, _ := strings.Cut(rest, "\r\n")
	n := testenv.Need(strconv.Atoi(text))(t)
	return n
}
