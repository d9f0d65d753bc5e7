package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// A host gives a player extra time in the lobby, with the keyboard. The player sees the longer
// time and scores in it. Others wait and see nothing of it.
func TestExtraTimeInTheBrowser(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	b := newBrowser(t, chromium)
	node := startNodeWithEveryKind(t, hostPacedConfig)
	p := b.open(node.url + "/?guest=new")
	p.click("arena-host", "pace-host")
	for _, field := range [][2]string{{"draft-name", "Friday"}, {"draft-count", "1"}, {"draft-seconds", "15"}, {"nickname", "Quizmaster"}} {
		p.write(field[0], field[1])
	}
	p.click("make")
	code := p.waitForAttribute(byName("code"), "data-code")
	host := hostedArena{p, code, node.url + "/g/com.example.quiz/join/" + code + "?guest=new"}
	ann, bob := b.open(host.link).join("Ann", ""), b.open(host.link).join("Bob", "")

	host.runSteps(chromedp.Focus(byName("extra-open")), chromedp.KeyEvent("\r"))
	host.giveExtraTime("Eve")
	host.waitForVisible(byName("notice"))
	host.giveExtraTime("Bob")
	host.waitForVisible(byNameAndData("extra-row", "percent", 50))
	host.click("extra-take")
	host.runSteps(chromedp.WaitNotPresent(byName("extra-row")), chromedp.Focus(byName("extra-percent")), chromedp.KeyEvent("+1"))
	host.giveExtraTime("Ann")
	host.waitForVisible(byNameAndData("extra-row", "percent", 100))
	host.checkAccessibility("extra time")
	host.runSteps(chromedp.Reload())
	host.click("extra-open")
	host.waitForVisible(byNameAndData("extra-row", "percent", 100))

	host.click("start")
	kind := host.openQuestion(0, ann, bob)
	if left := ann.secondsLeft(); left <= 15 || left > 30 {
		t.Errorf("a player with extra time has %d s", left)
	}
	if left := bob.secondsLeft(); left > 15 {
		t.Errorf("a player without extra time has %d s", left)
	}
	bob.waitForVisible(byNameAndData("status", "state", "waiting"))
	bob.checkAccessibility("waiting for the others")
	ann.answer(kind, true)
	for p, outcome := range map[*tab]string{ann: "right", bob: "none", host.tab: "unknown"} {
		p.waitForOutcome(outcome)
		if strings.Contains(strings.ToLower(p.visibleText()), "extra") {
			t.Errorf("the page names extra time:\n%s", p.visibleText())
		}
	}
}

// giveExtraTime types a name and submits it.
func (h hostedArena) giveExtraTime(nickname string) {
	h.Helper()
	h.write("extra-who", nickname)
	h.runSteps(chromedp.KeyEvent("\r"))
}

// secondsLeft returns the time that the page shows.
func (p *tab) secondsLeft() int {
	p.Helper()
	left := testenv.Need(strconv.Atoi(p.text(byName("time"))))(p.T)
	return left
}
