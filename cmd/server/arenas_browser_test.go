package main

import (
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// A host, two companies and a big screen are in a buzzer arena. A wrong answer locks its
// company out, the first right answer wins the question, and one question has no winner.
func TestATeamBuzzerArenaIsPlayedInTheBrowser(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	n := kindsNode(t, kindsHosted)
	b := newBrowser(t, chromium)
	h := b.hostArena(n.url, "buzzer", "Red", "Blue")
	red, blue, screen := b.open(n.url+"/?guest=new"), b.open(h.link), b.open(h.link+"&watch=1")
	red.write("arena-code", h.code[:3]+" "+h.code[3:])
	red.click("arena-enter")
	red.join("Ruby", "R")
	blue.join("Basil", "B")
	for _, p := range []*tab{h.tab, red, blue, screen} {
		p.waitForVisible(withMark("players", "value", 2), withMark("team-t1", "players", 1), withMark("team-t2", "players", 1))
	}
	h.click("start")
	for q, round := range []struct{ first, other *tab }{{red, blue}, {blue, red}, {red, blue}, {}, {red, blue}} {
		kind := h.openQuestion(q, red, blue, screen)
		if round.first == nil {
			h.runSteps(chromedp.Click(withMark("next", "act", "close")))
			red.waitForOutcome("none")
			continue
		}
		round.other.answer(kind, false)
		round.other.waitForVisible(withMark("status", "state", "wrong"))
		round.first.answer(kind, true)
		round.first.waitForOutcome("right")
		round.other.waitForOutcome("wrong")
		screen.waitForOutcome("unknown")
	}
	for _, p := range []*tab{h.tab, red, blue, screen} {
		p.waitForVisible(withMark("team-t1", "score", 3), withMark("team-t2", "score", 1))
	}
	red.waitForVisible(withMark("score-me", "value", 300))
	h.runSteps(chromedp.Click(withMark("next", "act", "finish")))
	h.waitForEnd("over", "The winner: Red")
	screen.waitForEnd("over", "The winner: Red")
	blue.waitForEnd("lost", "The winner: Red")
	red.waitForEnd("won", "Your team wins: Red")
	red.waitForVisible(withMark("place", "rank", 1), withMark("team-t1", "score", 3))
	red.click("home")
	red.waitForVisible(".board-empty") // an unranked arena counts for no leaderboard
}

// Three players are in a survival arena. One is eliminated and keeps watching, then another,
// and the third remains.
func TestASurvivalArenaIsPlayedInTheBrowser(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	n := kindsNode(t, kindsHosted)
	b := newBrowser(t, chromium)
	h := b.hostArena(n.url, "survival")
	ann := b.open(h.link).join("Ann", "")
	bob := b.open(h.link).join("Bob", "")
	cyd := b.open(h.link).join("Cyd", "")
	h.waitForVisible(withMark("players", "value", 3))
	h.click("start")

	kind := h.openQuestion(0, ann, bob, cyd)
	ann.answer(kind, true)
	ann.waitForVisible(withMark("status", "state", "held"))
	bob.answer(kind, true)
	cyd.answer(kind, false)
	for p, outcome := range map[*tab]string{ann: "right", bob: "right", cyd: "wrong", h.tab: "unknown"} {
		p.waitForOutcome(outcome)
		p.waitForVisible(withMark("score-them", "value", 2)) // two players are still in the match
	}
	cyd.waitForVisible(withMark("stage", "part", "out"))

	kind = h.openQuestion(1, ann, bob, cyd)
	cyd.waitForVisible(withMark("stage", "part", "out"))
	bob.answer(kind, false)
	ann.answer(kind, true)
	for p, outcome := range map[*tab]string{ann: "right", bob: "wrong", cyd: "unknown", h.tab: "unknown"} {
		p.waitForOutcome(outcome)
		p.waitForVisible(withMark("score-them", "value", 1))
	}

	h.runSteps(chromedp.Click(withMark("next", "act", "finish")))
	h.waitForEnd("over", "Ann is the last one standing")
	ann.waitForEnd("won", "You are the last one standing")
	bob.waitForEnd("lost", "Ann is the last one standing")
	cyd.waitForEnd("lost", "Ann is the last one standing")
	for rank, p := range []*tab{ann, bob, cyd} {
		p.waitForVisible(withMark("place", "rank", rank+1))
	}
}

// Tabs that are reloaded continue, in the lobby and in every phase of a match. So do tabs that
// go to another page and back, and tabs that their user leaves for a second tab.
func TestAReloadedTabContinuesItsMatch(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	n := kindsNode(t, kindsHosted)
	b := newBrowser(t, chromium)
	h := b.hostArena(n.url, "survival")
	ann := b.open(n.url+"/g/demo/join/"+h.code).join("Ann", "")
	bob := b.open(h.link).join("Bob", "")

	reloadInLobby(n, h, ann, bob)
	second := b.open(n.url)
	second.waitForVisible(withMark("arena-lobby", "as", "player"))
	ann.click("reconnect")
	second.waitForVisible(withName("reconnect"))
	ann.waitForVisible(withMark("connection", "kind", "online"), withMark("arena-lobby", "as", "player"))
	h.click("start")

	kind := h.openQuestion(0, ann, bob)
	ann.answer(kind, true)
	ann.waitForVisible(withMark("status", "state", "held"))
	ann.runSteps(chromedp.Reload())
	ann.waitForQuestion(0)
	ann.waitForVisible(withMark("status", "state", "held"))
	bob.runSteps(chromedp.Reload())
	bob.waitForQuestion(0)
	bob.answer(kind, true)
	for p, outcome := range map[*tab]string{ann: "right", bob: "right", h.tab: "unknown"} {
		p.waitForOutcome(outcome)
		p.runSteps(chromedp.Reload())
		p.waitForOutcome(outcome)
	}

	kind = h.openQuestion(1, ann, bob)
	bob.answer(kind, false)
	ann.answer(kind, true)
	bob.waitForOutcome("wrong")
	bob.runSteps(chromedp.Reload())
	bob.waitForOutcome("wrong")
	bob.waitForVisible(withMark("stage", "part", "out"))
	h.runSteps(chromedp.Click(withMark("next", "act", "finish")))
	ann.waitForEnd("won", "You are the last one standing")
	bob.waitForEnd("lost", "Ann is the last one standing")
	h.waitForEnd("over", "Ann is the last one standing")
}

// reloadInLobby reloads the tabs in the lobby. In between, bob goes to another page.
func reloadInLobby(n *testNode, h hostedArena, ann, bob *tab) {
	h.Helper()
	for _, p := range []*tab{h.tab, ann, bob} {
		p.runSteps(chromedp.Reload())
		p.waitForVisible(withName("arena-lobby"), withMark("players", "value", 2))
	}
	bob.runSteps(chromedp.Navigate("about:blank"))
	waitUntil(bob.T, "the page that bob left has closed its websocket", func() bool { return n.countSessions(bob.T) == "2" })
	bob.runSteps(chromedp.Navigate(h.link))
	bob.waitForVisible(withMark("arena-lobby", "as", "player"))
}
