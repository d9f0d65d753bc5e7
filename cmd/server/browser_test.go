package main

import (
	"fmt"
	"image"
	"image/png"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// rightAnswers are the answers in testdata/kinds.csv, by the question's text.
var rightAnswers = map[string][]string{
	"Which planet is the largest?": {"Jupiter"}, "Water boils at 100 °C at sea level.": {"True"},
	"Which of these numbers are even?": {"Two", "Four"}, "How many sides has a hexagon?": {"6"}, "What is the capital of France?": {"Paris"},
}

// everyKindConfig has a long time limit, because a browser on a busy machine types slowly.
// A bot answers within 60% of the limit.
const everyKindConfig = `
games:
  com.example.quiz:
    banks: [kinds]
    page: {title: Quiz Night, logo: logo.png, accent: "#0b3d91", background: "#fdf6e3", dark_background: "#101826"}
    duel: {questions: 5, time_limit_ms: 30000, countdown_ms: 500, reveal_ms: 1500, bot_after_ms: 0}
`

// answer answers a question of a kind, right or wrong. It uses clicks, keys or typing, as a
// person does.
func (p *tab) answer(kind string, right bool) {
	p.Helper()
	known := rightAnswers[p.text(byName("question"))]
	switch kind {
	case "number", "text":
		typed := known[0]
		if !right {
			typed = "7"
		}
		p.runSteps(chromedp.SendKeys(byName("entry"), typed), chromedp.Click(byName("submit")))
	case "multiple":
		for i := range 4 {
			if tile := fmt.Sprintf(`label:has([data-test="choice-%d"])`, i); p.showsAnswer(tile, known) == right {
				p.runSteps(chromedp.KeyEvent(strconv.Itoa(i + 1)))
			}
		}
		p.runSteps(chromedp.Click(byName("submit")))
	default:
		for i := range 3 {
			if tile := fmt.Sprintf("choice-%d", i); p.showsAnswer(string(byName(tile)), known) == right {
				p.runSteps(chromedp.Click(byName(tile)))
				return
			}
		}
		p.Fatalf("there is no choice to answer with (right: %v):\n%s", right, p.visibleText())
	}
}

// waitForQuestion waits for question q, and returns its kind.
func (p *tab) waitForQuestion(q int) (kind string) {
	p.Helper()
	return p.waitForAttribute(byNameAndData("question", "question", q), "data-kind")
}

// playDuel plays a duel with every answer right in the tabs of one match.
func playDuel(questions int, tabs ...*tab) {
	for q := range questions {
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
	if outcome := p.waitForAttribute(byName("result"), "data-outcome"); outcome != "right" {
		p.Errorf("question %d was answered right, but the page shows the outcome %q:\n%s", q, outcome, p.visibleText())
	}
	if text := p.text(byName("result")); len(text) < 60 {
		p.Errorf("the explanation of question %d is too short: %q", q, text)
	}
	score, err := strconv.Atoi(p.waitForAttribute(byName("score-me"), "data-value"))
	if err != nil || score < p.score+100 || score > p.score+200 {
		p.Errorf("a right answer took the score from %d to %d (%v)", p.score, score, err)
	}
	p.score = score
	p.rival, _ = strconv.Atoi(p.waitForAttribute(byName("score-them"), "data-value"))
}

// checkEnd waits for the final standings, checks the player's own row, which has the number of right answers,
// and returns the outcome.
func (p *tab) checkEnd(right string) (outcome string) {
	p.Helper()
	outcome = p.waitForAttribute(byName("final"), "data-outcome")
	own := p.text(chromedp.CSS(".rank.me"))
	if digits := strings.NewReplacer(",", "", ".", "", " ", "").Replace(own); !strings.Contains(digits, strconv.Itoa(p.score)) || !strings.Contains(own, right) {
		p.Errorf("the final standing is %q, want the score %d and %s right", own, p.score, right)
	}
	return outcome
}

// startNodeWithEveryKind starts a node whose bank has one question of each kind. Beside the
// configuration is a logo.
func startNodeWithEveryKind(t *testing.T, config string) *testNode {
	t.Helper()
	db := testenv.SQL{Dir: t.TempDir()}
	bankCommand(t, db, "import", "--bank=kinds", "testdata/kinds.csv")
	path := configFile(t, config)
	var logo strings.Builder
	testenv.NoError(t, png.Encode(&logo, image.NewGray(image.Rect(0, 0, 64, 64))))
	testenv.WriteBeside(t, path, "logo.png", logo.String())
	return startNode(t, cli.Flags{Data: &db.Dir, Config: path})
}

// A newcomer opens the page, enters a nickname and plays a duel against the bot. The duel counts
// for no leaderboard.
func TestANewcomerPlaysTheBotInTheBrowser(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	config := strings.NewReplacer("questions: 5", "questions: 2", "reveal_ms: 1500", "reveal_ms: 5000") // the bot thinks long, and the page must show each result
	node := startNodeWithEveryKind(t, config.Replace(everyKindConfig))
	b := newBrowser(t, chromium)
	p := b.open(node.url)
	b.checkForbiddenActions(node.url)
	p.waitForVisible(byName("leaderboard"), ".board-empty")
	p.checkAccessibility("home")
	p.runSteps(chromedp.SendKeys(byName("nickname"), "Ada of the page"), chromedp.Click(byName("play-bot")))
	playDuel(2, p)
	outcome := p.checkEnd("2/2")
	p.checkAccessibility("end of a duel")
	if own := p.text(chromedp.CSS(".rank.me")); p.rival < p.score && outcome != "won" || p.rival > p.score && outcome != "lost" || !strings.Contains(own, "Ada of the page") {
		t.Errorf("with the score %d against %d the outcome is %s, and the standing is %q", p.score, p.rival, outcome, own)
	}
	p.runSteps(chromedp.Click(byName("home")), chromedp.WaitVisible(chromedp.CSS(".board-empty")))
}

// Two tabs play each other. Then both are on the page's leaderboard, in their profiles and in their
// histories.
func TestTwoBrowserTabsPlayADuel(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	unhurried := strings.NewReplacer("time_limit_ms: 30000", "time_limit_ms: 60000", "reveal_ms: 1500", "reveal_ms: 5000") // there is no bot to wait for
	node := startNodeWithEveryKind(t, unhurried.Replace(everyKindConfig))
	b := newBrowser(t, chromium)
	tabs := []*tab{b.open(node.url + "/?guest=new"), b.open(node.url + "/?guest=new")}
	for i, p := range tabs {
		p.runSteps(chromedp.SendKeys(byName("nickname"), []string{"Left Tab", "Right Tab"}[i]), chromedp.Click(byName("play")))
	}
	playDuel(5, tabs...)
	outcomes := []string{tabs[0].checkEnd("5/5"), tabs[1].checkEnd("5/5")}
	if slices.Sort(outcomes); !slices.Equal(outcomes, []string{"lost", "won"}) && tabs[0].score != tabs[1].score {
		t.Errorf("the scores %d and %d have the outcomes %v", tabs[0].score, tabs[1].score, outcomes)
	}
	for _, p := range tabs {
		p.runSteps(chromedp.WaitVisible(byName("settled")), chromedp.Click(byName("home")), chromedp.WaitVisible(byName("entry-row")))
	}
	for _, p := range tabs {
		p.click("around")
		p.waitForVisible(byName("top"))
		p.checkOwnProfile(node.url)
	}
}

// checkOwnProfile checks the player's own row of the leaderboard on the page, the profile and the history.
func (p *tab) checkOwnProfile(url string) {
	p.Helper()
	id := p.waitForAttribute(`tr.me[data-test="entry-row"]`, "data-player")
	var profile struct{ Score, Matches, Correct int }
	get(p.T, url+"/v1/games/com.example.quiz/players/"+id, &profile)
	if profile.Score != p.score || profile.Matches != 1 || profile.Correct != 5 {
		p.Errorf("the page showed %d points, the profile says %+v", p.score, profile)
	}
	var history struct {
		Matches []struct{ Score, Correct, Players int }
	}
	get(p.T, url+"/v1/games/com.example.quiz/players/"+id+"/matches", &history)
	if len(history.Matches) != 1 || history.Matches[0].Score != p.score || history.Matches[0].Players != 2 {
		p.Errorf("the page showed %d points, the history says %+v", p.score, history)
	}
}
