package main

import (
	"strings"

	"github.com/chromedp/chromedp"
)

// hostPacedConfig is a configuration for arenas that continue only when the host requests it.
const hostPacedConfig = `
games:
  com.example.quiz:
    banks: [kinds]
    page: {title: Quiz Night, logo: logo.png, accent: "#2e7d32"}
    duel: {questions: 5}
    arena: {countdown_ms: 200, reveal_ms: 60000}
`

// hostedArena is an arena on the page: the tab of its host, and its code.
type hostedArena struct {
	*tab
	code, link string
}

// hostArena creates an arena of five questions on the page. Its host opens each question.
func (b browser) hostArena(url, mode string, teams ...string) hostedArena {
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
	code := p.waitForAttribute(byName("code"), "data-code")
	return hostedArena{p, code, url + "/g/com.example.quiz/join/" + code + "?guest=new"}
}

// join joins through an arena's gate. It chooses a team by its first letters.
func (p *tab) join(nickname, team string) *tab {
	p.Helper()
	p.waitForVisible(byName("gate"))
	p.write("nickname", nickname)
	if team != "" {
		p.runSteps(chromedp.SendKeys(byName("take-team"), team))
	}
	p.click("join")
	p.waitForVisible(byNameAndData("arena-lobby", "as", "player"))
	return p
}

// openQuestion opens question q, and returns its kind when all the tabs show it.
func (h hostedArena) openQuestion(q int, tabs ...*tab) (kind string) {
	h.Helper()
	h.runSteps(chromedp.Click(byNameAndData("next", "act", "open")))
	kind = h.waitForQuestion(q)
	for _, p := range tabs {
		p.waitForQuestion(q)
	}
	return kind
}

// waitForOutcome waits until the page shows the outcome of a question for its player.
func (p *tab) waitForOutcome(outcome string) {
	p.Helper()
	if got := p.waitForAttribute(byName("result"), "data-outcome"); got != outcome {
		p.Errorf("the page shows the outcome %q of the question, want %q:\n%s", got, outcome, p.visibleText())
	}
}

// waitForEnd waits for the final standings. It checks the outcome and the heading.
func (p *tab) waitForEnd(outcome, headline string) {
	p.Helper()
	if got := p.waitForAttribute(byName("final"), "data-outcome"); got != outcome {
		p.Errorf("the page shows the outcome %q of the match, want %q:\n%s", got, outcome, p.visibleText())
	}
	if got := p.text("h1"); !strings.Contains(got, headline) {
		p.Errorf("the heading of the end is %q, want %q in it", got, headline)
	}
}
