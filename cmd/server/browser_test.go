package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// rightAnswers are the answers in testdata/kinds.csv, by the question's text.
var rightAnswers = map[string][]string{
	"Which planet is the largest?": {"Jupiter"}, "Water boils at 100 °C at sea level.": {"True"},
	"Which of these numbers are even?": {"Two", "Four"}, "How many sides has a hexagon?": {"6"}, "What is the capital of France?": {"Paris"},
}

const everyKind = `
games:
  demo:
    banks: [kinds]
    duel: {questions: 5, time_limit_ms: 6000, countdown_ms: 500, reveal_ms: 1500, bot_after_ms: 0}
`

// answer answers a question of a kind, right or wrong. It uses clicks, keys or typing, as a
// person does.
func (p *tab) answer(kind string, right bool) {
	p.Helper()
	known := rightAnswers[p.text(withName("question"))]
	switch kind {
	case "number", "text":
		typed := known[0]
		if !right {
			typed = "7"
		}
		p.runSteps(chromedp.SendKeys(withName("entry"), typed), chromedp.Click(withName("submit")))
	case "multiple":
		for i := range 4 {
			if tile := fmt.Sprintf(`label:has([data-test="choice-%d"])`, i); p.showsAnswer(tile, known) == right {
				p.runSteps(chromedp.KeyEvent(strconv.Itoa(i + 1)))
			}
		}
		p.runSteps(chromedp.Click(withName("submit")))
	default:
		for i := range 3 {
			if tile := fmt.Sprintf("choice-%d", i); p.showsAnswer(string(withName(tile)), known) == right {
				p.runSteps(chromedp.Click(withName(tile)))
				return
			}
		}
		p.Fatalf("there is no choice to answer with (right: %v):\n%s", right, p.visibleText())
	}
}

// waitForQuestion waits for question q, and returns its kind.
func (p *tab) waitForQuestion(q int) (kind string) {
	p.Helper()
	return p.waitForAttribute(withMark("question", "question", q), "data-kind")
}

// playDuel plays a duel with every answer right in the tabs of one match.
func playDuel(tabs ...*tab) {
	for q := range 5 {
		for _, p := range tabs {
			p.answer(p.waitForQuestion(q), true)
		}
		for _, p := range tabs {
			p.checkResult(q)
		}
	}
}

// checkResult checks the result that a tab shows after a right answer.
func (p *tab) checkResult(q int) {
	p.Helper()
	if outcome := p.waitForAttribute(withName("result"), "data-outcome"); outcome != "right" {
		p.Errorf("question %d was answered right, but the page shows the outcome %q:\n%s", q, outcome, p.visibleText())
	}
	if text := p.text(withName("result")); len(text) < 60 {
		p.Errorf("the explanation of question %d is too short: %q", q, text)
	}
	score, err := strconv.Atoi(p.waitForAttribute(withName("score-me"), "data-value"))
	if err != nil || score < p.score+100 || score > p.score+200 {
		p.Errorf("a right answer took the score from %d to %d (%v)", p.score, score, err)
	}
	p.score = score
}

// checkEnd waits for the final standings, checks the player's own row, and returns the outcome.
func (p *tab) checkEnd() (outcome string) {
	p.Helper()
	outcome = p.waitForAttribute(withName("final"), "data-outcome")
	own := p.text(chromedp.CSS(".rank.me"))
	if digitsOf := strings.NewReplacer(",", "", ".", "", " ", "").Replace(own); !strings.Contains(digitsOf, strconv.Itoa(p.score)) || !strings.Contains(own, "5/5") {
		p.Errorf("the final standing is %q, want the score %d and 5/5 right", own, p.score)
	}
	return outcome
}

// startNodeWithEveryKind starts a node whose bank has one question of each kind.
func kindsNode(t *testing.T, config string) *testNode {
	t.Helper()
	db := testenv.SQL{Dir: t.TempDir()}
	bankCommand(t, db, "import", "--bank=kinds", "testdata/kinds.csv")
	return startNode(t, cli{Data: &db.Dir, Config: configFile(t, config)})
}

// A newcomer opens the page, enters a nickname and plays a duel against the bot. The duel counts
// for no leaderboard.
func TestANewcomerPlaysTheBotInTheBrowser(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	n := kindsNode(t, everyKind)
	b := newBrowser(t, chromium)
	p := b.open(n.url)
	b.checkForbiddenActions(n.url)
	p.runSteps(chromedp.WaitVisible(withName("leaderboard")), chromedp.SendKeys(withName("nickname"), "Ada of the page"), chromedp.Click(withName("play-bot")))
	playDuel(p)
	outcome := p.checkEnd()
	if own := p.text(chromedp.CSS(".rank.me")); outcome == "lost" || !strings.Contains(own, "Ada of the page") {
		t.Errorf("with all answers right the outcome is %s, and the standing is %q", outcome, own)
	}
	p.runSteps(chromedp.Click(withName("home")), chromedp.WaitVisible(chromedp.CSS(".board-empty")))
}

// Two tabs play each other. Then both are on the page's leaderboard, in their profiles and in their
// histories.
func TestTwoBrowserTabsPlayADuel(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	n := kindsNode(t, everyKind)
	b := newBrowser(t, chromium)
	tabs := []*tab{b.open(n.url + "/?guest=new"), b.open(n.url + "/?guest=new")}
	for i, p := range tabs {
		p.runSteps(chromedp.SendKeys(withName("nickname"), []string{"Left Tab", "Right Tab"}[i]), chromedp.Click(withName("play")))
	}
	playDuel(tabs...)
	outcomes := []string{tabs[0].checkEnd(), tabs[1].checkEnd()}
	if slices.Sort(outcomes); !slices.Equal(outcomes, []string{"lost", "won"}) && tabs[0].score != tabs[1].score {
		t.Errorf("the scores %d and %d have the outcomes %v", tabs[0].score, tabs[1].score, outcomes)
	}
	for _, p := range tabs {
		p.runSteps(chromedp.WaitVisible(withName("settled")), chromedp.Click(withName("home")), chromedp.WaitVisible(withName("entry-row")))
	}
	for _, p := range tabs {
		p.click("around")
		p.waitForVisible(withName("top"))
		p.checkOwnProfile(n.url)
	}
}

// checkOwnProfile checks the player's own row of the leaderboard on the page, the profile and the history.
func (p *tab) checkOwnProfile(url string) {
	p.Helper()
	id := p.waitForAttribute(`tr.me[data-test="entry-row"]`, "data-player")
	var profile struct{ Score, Matches, Correct int }
	get(p.T, url+"/v1/games/demo/players/"+id, &profile)
	if profile.Score != p.score || profile.Matches != 1 || profile.Correct != 5 {
		p.Errorf("the page showed %d points, the profile says %+v", p.score, profile)
	}
	var history struct {
		Matches []struct{ Score, Correct, Players int }
	}
	get(p.T, url+"/v1/games/demo/players/"+id+"/matches", &history)
	if len(history.Matches) != 1 || history.Matches[0].Score != p.score || history.Matches[0].Players != 2 {
		p.Errorf("the page showed %d points, the history says %+v", p.score, history)
	}
}
