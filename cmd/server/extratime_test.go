package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/players"
)

// extraTimeRace is a race on two nodes. Only ada, who plays at the other node, has extra time.
type extraTimeRace struct {
	arenaID        string
	ada, bob, host *matchClient
	watcher        *matchClient
	rules          *checker.Checker
}

// newExtraTimeRace creates the race. Its host gives ada 100 % extra time in the lobby.
func newExtraTimeRace(t *testing.T, cluster testCluster, url, urlOfAda string) extraTimeRace {
	t.Helper()
	token := mintToken(t, cli.Flags{Config: cluster.config, Data: &cluster.db.Dir, Database: &cluster.db.URL}, "host", "quizmaster")
	limit := int64(3000)
	created := createArena(t, url, token, protocol.NewArena{Mode: "race", Name: "Friday", Pace: "auto", TimeLimitMS: &limit, Questions: protocol.ArenaQuestions{Count: 2}})
	guests := newGuests(t, []string{url}, 3)
	join := func(url string, guest player.Guest, as string) *matchClient {
		c := joinArena(t, url, guest, protocol.ArenaJoin{Code: created.Code, As: as})
		c.key = newAnswerKey(t)
		return c
	}
	race := extraTimeRace{
		arenaID: created.ArenaID, ada: join(urlOfAda, guests[0], "player"), bob: join(url, guests[1], "player"),
		host: join(url, player.Guest{ID: "quizmaster", Token: token}, "host"), watcher: join(url, guests[2], "spectator"),
		rules: new(checker.Checker),
	}
	follow(race.rules, []*matchClient{race.ada, race.bob}, race.host, race.watcher)
	extend := protocol.ArenaExtend{ArenaID: race.arenaID, Player: race.ada.id, Percent: 100}
	for _, stranger := range []*matchClient{race.ada, race.bob, race.watcher} {
		race.checkRefused(t, stranger, extend, protocol.CodeForbidden)
	}
	race.checkRefused(t, race.host, protocol.ArenaExtend{ArenaID: race.arenaID, Player: race.watcher.id, Percent: 100}, protocol.CodeNotFound)
	race.checkRefused(t, race.host, protocol.ArenaExtend{ArenaID: race.arenaID, Nickname: "Nobody1", Percent: 100}, protocol.CodeNotFound)
	race.checkRefused(t, race.host, protocol.ArenaExtend{ArenaID: race.arenaID, Player: race.ada.id, Percent: 99}, protocol.CodeBadRequest)
	var extended protocol.ArenaExtended
	readData(t, race.host.request(t, protocol.TypeArenaExtend, protocol.ArenaExtend{ArenaID: race.arenaID, Nickname: guests[0].Nickname, Percent: 100}), &extended)
	if want := (protocol.ExtraTime{Player: race.ada.id, Nickname: guests[0].Nickname, Percent: 100}); len(extended.Extra) != 1 || extended.Extra[0] != want {
		t.Fatalf("%+v, want %+v", extended, want)
	}
	for c, want := range map[*matchClient]int{race.host: 1, race.ada: 0, race.bob: 0, race.watcher: 0} {
		var joined protocol.ArenaJoined
		readData(t, c.request(t, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: created.Code, As: c.joined.As}), &joined)
		if len(joined.Extra) != want {
			t.Errorf("%s as %s: %+v", c.id, joined.As, joined)
		}
	}
	return race
}

func (r extraTimeRace) checkRefused(t *testing.T, c *matchClient, extend protocol.ArenaExtend, want protocol.Code) {
	t.Helper()
	var refused protocol.Error
	if readData(t, c.request(t, protocol.TypeArenaExtend, extend), &refused); refused.Code != want {
		t.Errorf("%s: %+v gets %+v, want %s", c.id, extend, refused, want)
	}
}

// answerAfterClose lets both players answer after closes_at. Only ada is in time.
func (r extraTimeRace) answerAfterClose(t *testing.T, question int) {
	t.Helper()
	asked := r.ada.asked[question]
	waitUntil(t, "closes_at has passed", func() bool { return time.Now().UnixMilli() > asked.ClosesAt+200 })
	r.bob.submit(t, true)
	r.bob.readUntil(t, "a refusal", func(checker.Frame) bool { return r.bob.refused[question].Code == protocol.CodeQuestionClosed })
	if reply := r.ada.submitAndRead(t, true); reply.ElapsedMS != (reply.At-asked.OpensAt)/2 {
		t.Errorf("%+v of %+v", reply, asked)
	}
}

// A player with extra time at another node scores after closes_at; others do not. Her node is
// killed, and the next question keeps her own deadline. Others get no trace of it.
func TestExtraTimeOnTwoNodes(t *testing.T) {
	t.Parallel()
	cluster := newTestCluster(t, testenv.StartCluster(t, 3, 0).URL, fastArenasConfig)
	survivor, victim := cluster.node(t), cluster.process(t)
	race := newExtraTimeRace(t, cluster, survivor.url, victim.url)
	all := []*matchClient{race.ada, race.bob, race.host, race.watcher}
	race.host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: race.arenaID})
	race.checkRefused(t, race.host, protocol.ArenaExtend{ArenaID: race.arenaID, Player: race.bob.id, Percent: 25}, protocol.CodeArenaStarted)
	var own protocol.OwnDeadline
	readData(t, race.ada.readUntilPush(t, protocol.TypeOwnDeadline), &own)
	race.bob.readUntilPush(t, protocol.TypeQuestion)
	asked := race.ada.asked[0]
	if own.ClosesAt != asked.ClosesAt+3000 || own.Extra != 100 || asked.ClosesAt != asked.OpensAt+3000 {
		t.Errorf("%+v of %+v", own, asked)
	}
	race.answerAfterClose(t, 0)
	for _, c := range all[:2] {
		for len(c.asked) < 2 {
			c.readUntilPush(t, protocol.TypeQuestion)
		}
	}
	victim.signal(syscall.SIGKILL)
	state := race.ada.reconnect(t, survivor.url)
	if state.OwnDeadline == nil || state.OwnDeadline.ClosesAt != race.ada.asked[1].ClosesAt+3000 {
		t.Errorf("%+v of %+v", state.OwnDeadline, race.ada.asked[1])
	}
	race.answerAfterClose(t, 1)
	playAll(t, all)
	judge(t, race.rules)
	for question, closed := range race.bob.closed {
		if closed.Right != 1 || closed.Answered != 1 || closed.Reason != "timeout" {
			t.Errorf("question %d: %+v", question, closed)
		}
	}
	if s := race.bob.over.Standings[0]; s.Player != race.ada.id || s.Correct != 2 || s.TimeMS > 2*3000 {
		t.Errorf("%+v", race.bob.over.Standings)
	}
	for _, c := range all[1:] {
		for _, frame := range c.frames {
			isHosts := c == race.host && (strings.Contains(frame, protocol.TypeArenaExtended) || strings.Contains(frame, protocol.TypeArenaJoined))
			isOwnRefusal := strings.Contains(frame, `"type":"error"`)
			if (strings.Contains(frame, "extra") || strings.Contains(frame, "own") && strings.Contains(frame, "deadline")) && !isHosts && !isOwnRefusal {
				t.Errorf("%s gets %s", c.id, frame)
			}
		}
	}
}
