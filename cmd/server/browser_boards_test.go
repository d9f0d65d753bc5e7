package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// rowSelector selects the row of a leaderboard that is the n-th on its page, from 1.
func rowSelector(n int) chromedp.CSS {
	return chromedp.CSS(fmt.Sprintf(`[data-test="entry-row"]:nth-child(%d)`, n))
}

// waitForPlayers waits until the leaderboard on the page shows this number of players.
func (p *tab) waitForPlayers(players int) {
	p.Helper()
	want := fmt.Sprintf("%d players", players)
	waitUntil(p.T, "the page shows "+want, func() bool { return p.text(chromedp.CSS(".turner .hint")) == want })
}

// connectWithName enters a nickname and opens the websocket, without a match.
func (p *tab) connectWithName(nickname string) {
	p.Helper()
	p.write("nickname", nickname)
	p.click("play", "cancel")
	p.waitForVisible(byName("leaderboard"))
}

// A person turns the pages of a leaderboard, looks at every window and at past days, and sees the
// leaderboards change without any action.
func TestThePageShowsCurrentAndPastLeaderboards(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	node := startNode(t, cli.Flags{Data: ptr(t.TempDir()), Config: configFile(t, fastDuelsConfig)})
	playDuels(t, node.url, 6)
	p := newBrowser(t, chromium).open(node.url + "/?guest=new")
	p.connectWithName("Onlooker")
	p.waitForVisible(rowSelector(10))
	p.click("next")
	p.waitForVisible(rowSelector(2))
	p.runSteps(chromedp.WaitNotPresent(rowSelector(3)))
	p.click("prev")
	p.waitForVisible(rowSelector(10))

	waitUntil(t, "the board is watched", func() bool { return sumMetric(t, node.opsURL, "laststand_leaderboards_watches") == 1 })
	playDuels(t, node.url, 1)
	p.waitForPlayers(14)
	p.click("next")
	playDuels(t, node.url, 1)
	p.waitForPlayers(16)

	var listing struct {
		Windows []struct{ ID string }
		Day     string
	}
	get(t, node.url+"/v1/games/demo/leaderboards", &listing)
	for _, window := range listing.Windows {
		p.click("window-"+window.ID, "order-time", "order-value")
		p.waitForVisible(rowSelector(10), byNameAndData("span", "to", listing.Day))
		p.waitForPlayers(16)
	}
	p.browseDays(listing.Day)
}

// browseDays goes back to a day without matches, and returns.
func (p *tab) browseDays(today string) {
	p.Helper()
	day := testenv.Need(time.Parse(time.DateOnly, today))(p.T)
	yesterday := day.AddDate(0, 0, -1).Format(time.DateOnly)
	p.click("window-day", "day-before")
	p.waitForVisible(byNameAndData("span", "from", yesterday), ".board-empty")
	if shown := p.waitForAttribute(byName("date"), "max"); shown != today {
		p.Errorf("the last day that can be chosen is %s; today is %s", shown, today)
	}
	p.click("day-after")
	p.waitForVisible(byNameAndData("span", "from", today), rowSelector(10), `[data-test="day-after"]:disabled`)
}
