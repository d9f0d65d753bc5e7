package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/trial"
)

// kindsHosted is for arenas in which nothing goes on unless the host says so.
const kindsHosted = `
games:
  demo:
    banks: [kinds]
    duel: {questions: 5}
    arena: {countdown_ms: 200, reveal_ms: 60000}
`

// hosted is an arena on the page: the tab of its host, and its code.
type hosted struct {
	*tab
	code, link string
}

// host makes an arena of five questions on the page, paced by its host.
func (b browser) host(url, mode string, teams ...string) hosted {
	b.Helper()
	p := b.open(url + "/?guest=new")
	p.click("arena-host", "mode-"+mode, "pace-host")
	p.write("draft-name", "Friday")
	p.write("draft-count", "5")
	p.write("draft-seconds", "60")
	for i, team := range teams {
		p.click("add-team")
		p.write([]string{"team-0", "team-1"}[i], team)
	}
	p.write("nickname", "Quizmaster")
	p.click("make")
	code := p.wait(named("code"), "data-code")
	return hosted{p, code, url + "/?guest=new&arena=" + code}
}

// join joins at an arena's gate; a team is chosen by its first letters.
func (p *tab) join(nickname, team string) *tab {
	p.Helper()
	p.sees(named("gate"))
	p.write("nickname", nickname)
	if team != "" {
		p.do(chromedp.SendKeys(named("take-team"), team))
	}
	p.click("join")
	p.sees(marked("arena-lobby", "as", "player"))
	return p
}

// open opens question q, and gives its kind once all the tabs show it.
func (h hosted) open(q int, tabs ...*tab) (kind string) {
	h.Helper()
	h.do(chromedp.Click(marked("next", "act", "open")))
	kind = h.asked(q)
	for _, p := range tabs {
		p.asked(q)
	}
	return kind
}

// told waits until the page tells how a question went for its player.
func (p *tab) told(outcome string) {
	p.Helper()
	if got := p.wait(named("result"), "data-outcome"); got != outcome {
		p.Errorf("the question is told as %q, not %q:\n%s", got, outcome, p.shown())
	}
}

// over waits for the last standing.
func (p *tab) over(outcome, headline string) {
	p.Helper()
	if got := p.wait(named("final"), "data-outcome"); got != outcome {
		p.Errorf("the match is told as %q, not %q:\n%s", got, outcome, p.shown())
	}
	if got := p.text("h1"); !strings.Contains(got, headline) {
		p.Errorf("the end is headed %q, not %q", got, headline)
	}
}

// A host, two companies and a big screen in a buzzer arena: who is wrong is
// shut out, who is first takes the question, and one question is taken by
// nobody.
func TestAnArenaIsHostedAndPlayed(t *testing.T) {
	t.Parallel()
	chromium, ok := trial.Chromium(t)
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
	chromium, ok := trial.Chromium(t)
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
// they were; so does a player who opens a second tab, and returns to the first.
func TestAReloadedTabGoesOn(t *testing.T) {
	t.Parallel()
	chromium, ok := trial.Chromium(t)
	if !ok {
		return
	}
	n := kindsNode(t, kindsHosted)
	b := newBrowser(t, chromium)
	h := b.host(n.url, "survival")
	ann := b.open(n.url+"/?arena="+h.code).join("Ann", "")
	bob := b.open(h.link).join("Bob", "")

	for _, p := range []*tab{h.tab, ann, bob} {
		p.do(chromedp.Reload())
		p.sees(named("arena-lobby"), marked("players", "value", 2))
	}
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
