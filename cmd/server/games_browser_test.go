package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// severalGamesConfig is a configuration of games without a default one. One has its own look.
const severalGamesConfig = `
games:
  com.example.quiz:
    page: {title: Quiz Night, logo: logo.png, accent: "#0b3d91", background: "#fdf6e3"}
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
	node := startNodeWithEveryKind(t, severalGamesConfig)
	b := newBrowser(t, chromium)
	list := b.open(node.url + "/")
	list.waitForVisible(`a[href="/g/com.example.trivia"]`, `a[href="/g/com.example.quiz"] img`)
	list.checkAccessibility("list of games")
	list.runSteps(chromedp.Click(chromedp.CSS(`a[href="/g/com.example.quiz"]`)))
	list.checkLook("Quiz Night", "rgb(11, 61, 145) rgb(255, 255, 255) rgb(253, 246, 227) 64")
	b.open(node.url+"/g/com.example.trivia").checkLook("Laststand", "rgb(255, 185, 40) rgb(16, 34, 42) rgb(234, 240, 239) undefined")
	host := b.open(node.url + "/g/com.example.quiz?guest=new")
	host.click("arena-host", "mode-survival", "pace-host")
	host.write("draft-name", "Friday")
	host.write("nickname", "Quizmaster")
	host.click("make")
	host.waitForVisible(byName("link"))
	link := testenv.Need(chromedp.Run(host.ctx, chromedp.Value(byName("link"))))(t)
	if code := host.waitForAttribute(byName("code"), "data-code"); link != node.url+"/g/com.example.quiz/join/"+code {
		t.Errorf("the link of arena %s is %s", code, link)
	}
	guest := b.open(link + "?guest=new")
	guest.waitForVisible(byName("gate"))
	guest.checkAccessibility("gate")
	guest.join("Ruby", "")
	host.waitForVisible(byNameAndData("players", "value", 1))
}

// checkLook checks the game's title in the page and in the tab. look has the colours of the
// main button, of its text and of the page. It ends with the width of the logo.
func (p *tab) checkLook(title, look string) {
	p.Helper()
	p.waitForVisible(byName("play"))
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`(async () => {
		const button = getComputedStyle(document.querySelector('[data-test=play]')), logo = document.querySelector('[data-test=title] .logo');
		await logo?.decode();
		return [document.title, document.querySelector('[data-test=title]').innerText.toLowerCase(), button.backgroundColor, button.color,
			getComputedStyle(document.body).backgroundColor, logo?.naturalWidth + ''].join(' ');
	})()`, chromedp.EvalAwaitPromise))
	if want := title + " · quiz battles " + strings.ToLower(title) + " " + look; err != nil || got != want {
		p.Errorf("the page looks like %q, %v; want %q", got, err, want)
	}
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
