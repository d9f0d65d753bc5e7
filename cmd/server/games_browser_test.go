package main

import (
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// severalGamesConfig is a configuration of games without a default one.
const severalGamesConfig = `
games:
  com.example.quiz: {banks: [builtin], players_may_host: true}
  com.example.trivia: {banks: [builtin]}
limits: {guests_per_minute_per_address: 0}
`

// The page plays each game of a server. "/" lists them, and the link of an arena leads to that
// arena in any game.
func TestThePagePlaysEveryGame(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, severalGamesConfig)})
	b := newBrowser(t, chromium)
	b.open(node.url+"/").waitForVisible(`a[href="/g/com.example.trivia"]`, `a[href="/g/com.example.quiz"]`)
	host := b.open(node.url + "/g/com.example.quiz?guest=new")
	host.click("arena-host", "mode-survival", "pace-host")
	host.write("draft-name", "Friday")
	host.write("nickname", "Quizmaster")
	host.click("make")
	host.waitForVisible(byName("link"))
	link, err := chromedp.Run(host.ctx, chromedp.Value(byName("link")))
	if err != nil {
		t.Fatal(err)
	}
	if code := host.waitForAttribute(byName("code"), "data-code"); link != node.url+"/g/com.example.quiz/join/"+code {
		t.Errorf("the link of arena %s is %s", code, link)
	}
	guest := b.open(link + "?guest=new")
	guest.join("Ruby", "")
	host.waitForVisible(byNameAndData("players", "value", 1))
}

// A first visit needs at most 8 requests and 120 kB.
func TestFirstVisitIsLight(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	dir := t.TempDir()
	page := newBrowser(t, chromium).open(startNode(t, cli.Flags{Data: &dir}).url + "/?guest=new")
	page.waitForVisible(byName("play"))
	cost, err := chromedp.Run(page.ctx, chromedp.Evaluate[struct{ Requests, Bytes int }](`(() => {
		const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
		return {requests: all.length, bytes: all.reduce((sum, entry) => sum + entry.transferSize, 0)};
	})()`))
	if err != nil {
		t.Fatal(err)
	}
	if cost.Requests < 3 || cost.Requests > 8 || cost.Bytes < 20_000 || cost.Bytes > 120_000 {
		t.Errorf("a first visit makes %d requests and loads %d bytes", cost.Requests, cost.Bytes)
	}
}
