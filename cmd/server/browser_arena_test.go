package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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
	return hosted{p, code, url + "/g/demo/join/" + code + "?guest=new"}
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

// sessions is how many websockets a node says that it has.
func (r *running) sessions(t *testing.T) string {
	t.Helper()
	answer, err := http.Get(r.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nlaststand_ws_sessions ")
	count, _, _ := strings.Cut(rest, "\n")
	return count
}
