package main

import (
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// A host, two companies and a big screen in a buzzer arena: who is wrong is
// shut out, who is first takes the question, and one question is taken by
// nobody.
func TestAnArenaIsHostedAndPlayed(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	n := kindsNode(t, kindsHosted)
	b := newBrowser(t, chromium)
	h := b.host(n.url, "buzzer", "Red", "Blue")
	red, blue, screen := b.open(n.url+"/?guest=new"), b.open(h.link), b.open(h.link+"&watch=1")
	red.write("arena-code", h.code[:3]+" "+h.code[3:])
	red.click("arena-enter")
	red.join("Ruby", "R")
	blue.join("Basil", "B")
	for _, p := range []*tab{h.tab, red, blue, screen} {
		p.sees(marked("players", "value", 2), marked("team-t1", "players", 1), marked("team-t2", "players", 1))
	}
	h.click("start")
	for q, round := range []struct{ first, other *tab }{{red, blue}, {blue, red}, {red, blue}, {}, {red, blue}} {
		kind := h.open(q, red, blue, screen)
		if round.first == nil {
			h.do(chromedp.Click(marked("next", "act", "close")))
			red.told("none")
			continue
		}
		round.other.answer(kind, false)
		round.other.sees(marked("status", "state", "wrong"))
		round.first.answer(kind, true)
		round.first.told("right")
		round.other.told("wrong")
		screen.told("untold")
	}
	for _, p := range []*tab{h.tab, red, blue, screen} {
		p.sees(marked("team-t1", "score", 3), marked("team-t2", "score", 1))
	}
	red.sees(marked("score-me", "value", 300))
	h.do(chromedp.Click(marked("next", "act", "finish")))
	h.over("over", "The winner: Red")
	screen.over("over", "The winner: Red")
	blue.over("lost", "The winner: Red")
	red.over("won", "Your team wins: Red")
	red.sees(marked("place", "rank", 1), marked("team-t1", "score", 3))
	red.click("home")
	red.sees(".board-empty") // an arena that is not ranked counts for no board
}

// Of three in a survival arena one goes out and watches on, then another, and
// one is left.
func TestSurvivalOnThePage(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	n := kindsNode(t, kindsHosted)
	b := newBrowser(t, chromium)
	h := b.host(n.url, "survival")
	ann := b.open(h.link).join("Ann", "")
	bob := b.open(h.link).join("Bob", "")
	cyd := b.open(h.link).join("Cyd", "")
	h.sees(marked("players", "value", 3))
	h.click("start")

	kind := h.open(0, ann, bob, cyd)
	ann.answer(kind, true)
	ann.sees(marked("status", "state", "held"))
	bob.answer(kind, true)
	cyd.answer(kind, false)
	for p, outcome := range map[*tab]string{ann: "right", bob: "right", cyd: "wrong", h.tab: "untold"} {
		p.told(outcome)
		p.sees(marked("score-them", "value", 2)) // still in
	}
	cyd.sees(marked("stage", "part", "out"))

	kind = h.open(1, ann, bob, cyd)
	cyd.sees(marked("stage", "part", "out"))
	bob.answer(kind, false)
	ann.answer(kind, true)
	for p, outcome := range map[*tab]string{ann: "right", bob: "wrong", cyd: "untold", h.tab: "untold"} {
		p.told(outcome)
		p.sees(marked("score-them", "value", 1))
	}

	h.do(chromedp.Click(marked("next", "act", "finish")))
	h.over("over", "Ann is the last one standing")
	ann.over("won", "You are the last one standing")
	bob.over("lost", "Ann is the last one standing")
	cyd.over("lost", "Ann is the last one standing")
	for rank, p := range []*tab{ann, bob, cyd} {
		p.sees(marked("place", "rank", rank+1))
	}
}

// Tabs that are reloaded, in the lobby and at every turn of a match, go on where
// they were; so does who turns to another page and comes back, and who opens a
// second tab and returns to the first.
func TestAReloadedTabGoesOn(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	n := kindsNode(t, kindsHosted)
	b := newBrowser(t, chromium)
	h := b.host(n.url, "survival")
	ann := b.open(n.url+"/g/demo/join/"+h.code).join("Ann", "")
	bob := b.open(h.link).join("Bob", "")

	comeBackToLobby(n, h, ann, bob)
	second := b.open(n.url)
	second.sees(marked("arena-lobby", "as", "player"))
	ann.click("reconnect")
	second.sees(named("reconnect"))
	ann.sees(marked("connection", "kind", "online"), marked("arena-lobby", "as", "player"))
	h.click("start")

	kind := h.open(0, ann, bob)
	ann.answer(kind, true)
	ann.sees(marked("status", "state", "held"))
	ann.do(chromedp.Reload())
	ann.asked(0)
	ann.sees(marked("status", "state", "held"))
	bob.do(chromedp.Reload())
	bob.asked(0)
	bob.answer(kind, true)
	for p, outcome := range map[*tab]string{ann: "right", bob: "right", h.tab: "untold"} {
		p.told(outcome)
		p.do(chromedp.Reload())
		p.told(outcome)
	}

	kind = h.open(1, ann, bob)
	bob.answer(kind, false)
	ann.answer(kind, true)
	bob.told("wrong")
	bob.do(chromedp.Reload())
	bob.told("wrong")
	bob.sees(marked("stage", "part", "out"))
	h.do(chromedp.Click(marked("next", "act", "finish")))
	ann.over("won", "You are the last one standing")
	bob.over("lost", "Ann is the last one standing")
	h.over("over", "Ann is the last one standing")
}

// comeBackToLobby reloads the tabs in the lobby, and has bob turn to another
// page in between.
func comeBackToLobby(n *running, h hosted, ann, bob *tab) {
	h.Helper()
	for _, p := range []*tab{h.tab, ann, bob} {
		p.do(chromedp.Reload())
		p.sees(named("arena-lobby"), marked("players", "value", 2))
	}
	bob.do(chromedp.Navigate("about:blank"))
	eventually(bob.T, "a page that was left has hung up", func() bool { return n.sessions(bob.T) == "2" })
	bob.do(chromedp.Navigate(h.link))
	bob.sees(marked("arena-lobby", "as", "player"))
}
