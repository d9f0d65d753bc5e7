package main

import (
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/player"
)

// unhurried is a configuration of duels whose questions wait for both players.
func unhurried(games ...string) string {
	duels := map[string]duel{}
	for _, name := range games {
		duels[name] = duel{Questions: 4, TimeLimitMS: 60_000, CountdownMS: 50, RevealMS: 50}
	}
	return duelsOf(duels)
}

// Tickets that came in at two nodes are paired, whichever came first, and both
// nodes' players are told the same to the end.
func TestTicketsOfTwoNodesArePaired(t *testing.T) {
	t.Parallel()
	h := newHouse(t, testenv.ClusterOf(t, 3, 0).URL, unhurried("demo"))
	here, there := h.node(t), h.node(t)
	var all []*contestant
	var duels []duelling
	for range 2 {
		for _, urls := range [][2]string{{here.url, there.url}, {there.url, here.url}} {
			d := meet(t, stranger(t, urls[0], "demo"), stranger(t, urls[1], "demo")).begun(t)
			d.each(func(c *contestant) { c.wait = true })
			duels, all = append(duels, d), append(all, d[:]...)
		}
	}
	playOn(t, all...)
	for _, d := range duels {
		sameFeed(t, d[:]...)
		settledOnce(t, here.url, "demo", d[0].over)
	}
}

// A player is cut off again and again and comes back at the other node each
// time, before the answer and after it: nothing is missed, nothing comes twice,
// and what was answered stays answered.
func TestAPlayerComesBackAtAnotherNode(t *testing.T) {
	t.Parallel()
	h := newHouse(t, listedRedis(t), unhurried("demo"))
	urls := []string{h.node(t).url, h.node(t).url}
	d := meet(t, stranger(t, urls[0], "demo"), stranger(t, urls[1], "demo")).begun(t)
	rover, other := d[0], d[1]
	for q := range 4 {
		rover.until(t, protocol.TypeQuestion)
		other.until(t, protocol.TypeQuestion)
		state := rover.comeBack(t, urls[(q+1)%2])
		if state.Phase != "open" || state.Question == nil || state.Question.Question != q || state.YourAnswer != nil {
			t.Errorf("before the answer to question %d: %+v", q, state)
		}
		told := rover.reply(t, q%2 == 0)
		state = rover.comeBack(t, urls[q%2])
		if state.YourAnswer == nil || state.YourAnswer.ElapsedMS != told.ElapsedMS {
			t.Errorf("after the answer to question %d: %+v", q, state.YourAnswer)
		}
		_ = rover.Close()
		other.reply(t, true)
		other.until(t, protocol.TypeQuestionClosed)
		rover.comeBack(t, urls[(q+1)%2])
		rover.until(t, protocol.TypeQuestionClosed)
	}
	playOn(t, rover, other)
	sameFeed(t, rover, other)
	settledOnce(t, urls[0], "demo", rover.over)
}

// A second connection of a player, at another node, closes the first with 4409;
// what the one has not been told the other is, with and without resume.
func TestANewerConnectionAtAnotherNode(t *testing.T) {
	t.Parallel()
	h := newHouse(t, listedRedis(t), unhurried("demo"))
	urls := []string{h.node(t).url, h.node(t).url}
	d := meet(t, stranger(t, urls[0], "demo"), stranger(t, urls[1], "demo")).begun(t)
	rover, other := d[0], d[1]
	d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
	former := rover.Player
	other.reply(t, true)
	rover.resume(t, urls[1])
	checkReplaced(t, former)
	rover.reply(t, false)
	other.until(t, protocol.TypeQuestionClosed)
	rover.until(t, protocol.TypeQuestionClosed)

	former = rover.Player
	anew, err := player.Connect(t.Context(), urls[0], rover.Guest, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer anew.Close()
	checkReplaced(t, former)
	if p := anew.Welcome.Playing; p == nil || p.Match != rover.match || p.Seq < rover.seq {
		t.Fatalf("welcomed with %+v, the match %s is at %d or further", p, rover.match, rover.seq)
	}
	rover.Player = anew
	if anew.Welcome.Playing.Seq == rover.seq { // the next question has not opened yet
		rover.until(t, protocol.TypeQuestion)
	}
	if f := rover.request(t, protocol.TypeMatchSync, protocol.Resume{Match: rover.match, Seq: rover.seq}); f.Type != protocol.TypeMatchState {
		t.Fatalf("sync was answered with %s", f.Raw)
	}
	playOn(t, rover, other)
	sameFeed(t, rover, other)
}

// checkReplaced waits for the end of a connection that has a successor: by word
// to its node, which does not wait for the next ping.
func checkReplaced(t *testing.T, p *player.Player) {
	t.Helper()
	from := time.Now()
	if code := closed(t, p); code != protocol.CloseReplaced || time.Since(from) > pingEvery/2 {
		t.Errorf("a connection that has a successor was closed with %d after %s", code, time.Since(from))
	}
}
