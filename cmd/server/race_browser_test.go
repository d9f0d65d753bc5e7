package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// hostRace creates a race of two questions on the page, after a value that the page refuses.
func (b browser) hostRace(url string) hostedArena {
	b.Helper()
	p := b.open(url + "/?guest=new")
	p.click("arena-host", "pace-host", "more-settings", "draft-late")
	for _, field := range [][2]string{{"draft-name", "Friday"}, {"draft-count", "2"}, {"draft-seconds", "60"}, {"draft-reading", "5"}, {"draft-penalty", "5000"}, {"nickname", "Quizmaster"}} {
		p.write(field[0], field[1])
	}
	p.click("more-settings", "make")
	p.waitForFocus("draft-penalty")
	p.waitForVisible(byName("fault"))
	p.checkAccessibility("form of a race")
	p.write("draft-penalty", "50")
	p.click("make")
	code := p.waitForAttribute(byName("code"), "data-code")
	return hostedArena{p, code, url + "/g/com.example.quiz/join/" + code + "?guest=new"}
}

// Two players and one who joins late play a race. All see what everybody chose, their points, and
// where they stand.
func TestARaceIsPlayedInTheBrowser(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	b := newBrowser(t, chromium)
	node := startNodeWithEveryKind(t, hostPacedConfig)
	host := b.hostRace(node.url)
	ann := b.open(host.link).join("Ann", "")
	bob := b.open(host.link).join("Bob", "")
	host.click("start")
	kind := host.openQuestion(0, ann, bob)
	ann.waitForVisible(byNameAndData("status", "state", "reading"))
	ann.checkAccessibility("time to read")
	ann.answerAfterReading(kind, true)
	bob.answerAfterReading(kind, false)
	for p, outcome := range map[*tab]string{ann: "right", bob: "wrong", host.tab: "unknown"} {
		p.waitForOutcome(outcome)
	}
	ann.waitForVisible(byNameAndData("stand", "rank", 1))
	bob.waitForVisible(byNameAndData("stand", "rank", 2), byNameAndData("score-me", "value", 0), byName("share"))
	bob.checkAccessibility("result of a race for a player")

	late := b.open(host.link)
	late.write("nickname", "Cyd")
	late.click("join")
	late.waitForVisible(byName("late"))
	kind = host.openQuestion(1, ann, bob, late)
	for _, p := range []*tab{ann, bob, late} {
		p.answerAfterReading(kind, p != ann)
	}
	late.waitForOutcome("right")
	ann.waitForOutcome("wrong")
	host.checkAccessibility("result of a race for the host")
	host.runSteps(chromedp.Click(byNameAndData("next", "act", "finish")))
	host.waitForEnd("over", "wins")
	late.waitForVisible(byName("final"), byName("podium"), byName("standing-2"))
	match := ann.waitForAttribute(byName("final"), "data-match")
	waitUntil(t, "the race is settled", func() bool { return get(t, node.url+"/v1/games/com.example.quiz/matches/"+match, nil) == http.StatusOK })
	host.checkReport()
	late.waitForVisible(byName("corrected"), byNameAndData("standing-2", "score", 0)) // only Ann's right answer still counts
	ann.click("review")                                                               // the answers are in the ledger, because the report has them
	ann.waitForVisible(byName("reviewed"), ".recap-mark.right", ".recap-mark.void")
	ann.checkAccessibility("review of a race")
}

// checkReport checks the report of the race, and that the host can play it again.
func (h hostedArena) checkReport() {
	h.Helper()
	h.click("report-open")
	h.waitForVisible(byName("podium"), byName("hardest"), byNameAndData("report-question-0", "right", 1), byNameAndData("report-question-1", "right", 2))
	h.runSteps(chromedp.Click(byName("report-question-1") + " summary"))
	h.click("make-void-1", "make-void-1")
	h.waitForVisible(byName("void"), byNameAndData("report-question-1", "right", 0))
	h.checkAccessibility("report")
	h.click("csv")
	waitUntil(h.T, "the report is downloaded", func() bool {
		size, err := chromedp.Run(h.ctx, chromedp.Evaluate[int]("performance.getEntriesByType('resource').find(({name}) => name.endsWith('/report?format=csv'))?.decodedBodySize ?? 0"))
		return err == nil && size > 100
	})
	h.click("past-arenas", "report-0", "play-again")
	h.waitForVisible(byName("draft"))
	if penalty, err := chromedp.Run(h.ctx, chromedp.Value(byName("draft-penalty"))); err != nil || penalty != "50" {
		h.Errorf("the form has the penalty %q of the last race, want 50; %v", penalty, err)
	}
	h.playSameQuestions()
}

// playSameQuestions makes a race of the questions of the report that are not void, with their
// own time and weight, after a time that the page refuses.
func (h hostedArena) playSameQuestions() {
	h.Helper()
	h.click("home", "past-arenas", "report-0", "same-questions")
	h.waitForVisible(byName("picked"))
	h.write("item-seconds-0", "2")
	h.click("make")
	h.waitForFocus("item-seconds-0")
	if fault := h.text(byName("fault")); !strings.Contains(fault, "3 to 120 seconds") {
		h.Errorf("the page refuses the time with %q", fault)
	}
	h.checkAccessibility("form with picked questions")
	h.write("item-seconds-0", "7")
	h.runSteps(chromedp.SendKeys(byName("item-weight-0"), "D"))
	h.click("make")
	if code := h.waitForAttribute(byName("code"), "data-code"); code == h.code {
		h.Errorf("the code of the new race is that of the last one, %s", code)
	}
}

// answerAfterReading answers a question when the time to read it is over.
func (p *tab) answerAfterReading(kind string, right bool) {
	p.Helper()
	p.waitForVisible(byNameAndData("status", "state", "open"))
	p.answer(kind, right)
}
