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
	node := startNodeWithEveryKind(t, hostPacedConfig)
	b := newBrowser(t, chromium)
	host := b.hostArena(node.url, "buzzer", "Red", "Blue")
	red, blue, screen := b.open(node.url+"/?guest=new"), b.open(host.link), b.open(host.link+"&watch=1")
	red.write("arena-code", host.code[:3]+" "+host.code[3:])
	red.click("arena-enter")
	red.join("Ruby", "R")
	blue.join("Basil", "B")
	for _, p := range []*tab{host.tab, red, blue, screen} {
		p.waitForVisible(byNameAndData("players", "value", 2), byNameAndData("team-t1", "players", 1), byNameAndData("team-t2", "players", 1))
	}
	host.checkAccessibility("lobby of the host")
	red.checkAccessibility("lobby of a player")
	host.click("start")
	for q, round := range []struct{ winner, loser *tab }{{red, blue}, {blue, red}, {red, blue}, {}, {red, blue}} {
		kind := host.openQuestion(q, red, blue, screen)
		red.checkAccessibility("question of the kind " + kind)
		if round.winner == nil {
			host.runSteps(chromedp.Click(byNameAndData("next", "act", "close")))
			red.waitForOutcome("none")
			continue
		}
		round.loser.answer(kind, false)
		round.loser.waitForVisible(byNameAndData("status", "state", "wrong"))
		round.winner.answer(kind, true)
		round.winner.waitForOutcome("right")
		round.loser.waitForOutcome("wrong")
		screen.waitForOutcome("unknown")
	}
	host.checkAccessibility("result for the host")
	blue.checkAccessibility("result for the loser")
	for _, p := range []*tab{host.tab, red, blue, screen} {
		p.waitForVisible(byNameAndData("team-t1", "score", 3), byNameAndData("team-t2", "score", 1))
	}
	red.waitForVisible(byNameAndData("score-me", "value", 300))
	host.runSteps(chromedp.Click(byNameAndData("next", "act", "finish")))
	host.waitForEnd("over", "The winner: Red")
	screen.waitForEnd("over", "The winner: Red")
	blue.waitForEnd("lost", "The winner: Red")
	red.waitForEnd("won", "Your team wins: Red")
	red.waitForVisible(byNameAndData("place", "rank", 1), byNameAndData("team-t1", "score", 3))
	red.checkAccessibility("end")
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
	node := startNodeWithEveryKind(t, hostPacedConfig)
	b := newBrowser(t, chromium)
	host := b.hostArena(node.url, "survival")
	ann := b.open(host.link).join("Ann", "")
	bob := b.open(host.link).join("Bob", "")
	cyd := b.open(host.link).join("Cyd", "")
	host.waitForVisible(byNameAndData("players", "value", 3))
	host.click("start")

	kind := host.openQuestion(0, ann, bob, cyd)
	ann.answer(kind, true)
	ann.waitForVisible(byNameAndData("status", "state", "held"))
	bob.answer(kind, true)
	cyd.answer(kind, false)
	for p, outcome := range map[*tab]string{ann: "right", bob: "right", cyd: "wrong", host.tab: "unknown"} {
		p.waitForOutcome(outcome)
		p.waitForVisible(byNameAndData("score-them", "value", 2)) // two players are still in the match
	}
	cyd.waitForVisible(byNameAndData("stage", "part", "out"))

	kind = host.openQuestion(1, ann, bob, cyd)
	cyd.waitForVisible(byNameAndData("stage", "part", "out"))
	bob.answer(kind, false)
	ann.answer(kind, true)
	for p, outcome := range map[*tab]string{ann: "right", bob: "wrong", cyd: "unknown", host.tab: "unknown"} {
		p.waitForOutcome(outcome)
		p.waitForVisible(byNameAndData("score-them", "value", 1))
	}

	host.runSteps(chromedp.Click(byNameAndData("next", "act", "finish")))
	host.waitForEnd("over", "Ann is the last one standing")
	ann.waitForEnd("won", "You are the last one standing")
	bob.waitForEnd("lost", "Ann is the last one standing")
	cyd.waitForEnd("lost", "Ann is the last one standing")
	for rank, p := range []*tab{ann, bob, cyd} {
		p.waitForVisible(byNameAndData("place", "rank", rank+1))
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
	node := startNodeWithEveryKind(t, hostPacedConfig)
	b := newBrowser(t, chromium)
	host := b.hostArena(node.url, "survival")
	ann := b.open(node.url+"/g/com.example.quiz/join/"+host.code).join("Ann", "")
	bob := b.open(host.link).join("Bob", "")

	reloadInLobby(node, host, ann, bob)
	secondTab := b.open(node.url)
	secondTab.waitForVisible(byNameAndData("arena-lobby", "as", "player"))
	ann.click("reconnect")
	secondTab.waitForVisible(byName("reconnect"))
	ann.waitForVisible(byNameAndData("connection", "kind", "online"), byNameAndData("arena-lobby", "as", "player"))
	host.click("start")

	kind := host.openQuestion(0, ann, bob)
	ann.answer(kind, true)
	ann.waitForVisible(byNameAndData("status", "state", "held"))
	ann.runSteps(chromedp.Reload())
	ann.waitForQuestion(0)
	ann.waitForVisible(byNameAndData("status", "state", "held"))
	bob.runSteps(chromedp.Reload())
	bob.waitForQuestion(0)
	bob.answer(kind, true)
	for p, outcome := range map[*tab]string{ann: "right", bob: "right", host.tab: "unknown"} {
		p.waitForOutcome(outcome)
		p.runSteps(chromedp.Reload())
		p.waitForOutcome(outcome)
	}

	kind = host.openQuestion(1, ann, bob)
	bob.answer(kind, false)
	ann.answer(kind, true)
	bob.waitForOutcome("wrong")
	bob.runSteps(chromedp.Reload())
	bob.waitForOutcome("wrong")
	bob.waitForVisible(byNameAndData("stage", "part", "out"))
	host.runSteps(chromedp.Click(byNameAndData("next", "act", "finish")))
	ann.waitForEnd("won", "You are the last one standing")
	bob.waitForEnd("lost", "Ann is the last one standing")
	host.waitForEnd("over", "Ann is the last one standing")
}

// reloadInLobby reloads the tabs in the lobby. In between, bob goes to another page.
func reloadInLobby(node *testNode, host hostedArena, ann, bob *tab) {
	host.Helper()
	for _, p := range []*tab{host.tab, ann, bob} {
		p.runSteps(chromedp.Reload())
		p.waitForVisible(byName("arena-lobby"), byNameAndData("players", "value", 2))
	}
	bob.runSteps(chromedp.Navigate("about:blank"))
	waitUntil(bob.T, "the page that bob left has closed its websocket", func() bool { return sumMetric(bob.T, node.opsURL, "laststand_ws_sessions") == 2 })
	bob.runSteps(chromedp.Navigate(host.link))
	bob.waitForVisible(byNameAndData("arena-lobby", "as", "player"))
}
