package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"laststand/internal/testenv"
)

// row selects the row of a board that is the n-th on its page, from 1.
func row(n int) chromedp.CSS {
	return chromedp.CSS(fmt.Sprintf(`[data-test="entry-row"]:nth-child(%d)`, n))
}

// counts waits until the board on the page counts so many players.
func (p *tab) counts(players int) {
	p.Helper()
	want := fmt.Sprintf("%d players", players)
	eventually(p.T, "the page counts "+want, func() bool { return p.text(chromedp.CSS(".turner .hint")) == want })
}

// comeOnline takes a name and opens the line, without a match.
func (p *tab) comeOnline(nickname string) {
	p.Helper()
	p.write("nickname", nickname)
	p.click("play", "cancel")
	p.sees(named("leaderboard"))
}

// A person turns the pages of a board, looks at every window and at days that
// are over, and sees the boards change without doing anything.
func TestTheBoardsOnThePage(t *testing.T) {
	t.Parallel()
	chromium, ok := testenv.Chromium(t)
	if !ok {
		return
	}
	n := startNode(t, cli{Data: ptr(t.TempDir()), Config: configFile(t, fast)})
	playPairs(t, n.url, 6)
	p := newBrowser(t, chromium).open(n.url + "/?guest=new")
	p.comeOnline("Onlooker")
	p.sees(row(10))
	p.click("next")
	p.sees(row(2))
	p.do(chromedp.WaitNotPresent(row(3)))
	p.click("prev")
	p.sees(row(10))

	eventually(t, "the board is watched", func() bool { return strings.Contains(n.metrics(t), "\nlaststand_leaderboards_watches 1\n") })
	playPairs(t, n.url, 1)
	p.counts(14)
	p.click("next")
	playPairs(t, n.url, 1)
	p.counts(16)

	var listing struct {
		Windows []struct{ ID string }
		Day     string
	}
	get(t, n.url+"/v1/games/demo/leaderboards", &listing)
	for _, window := range listing.Windows {
		p.click("window-"+window.ID, "order-time", "order-value")
		p.sees(row(10), marked("span", "to", listing.Day))
		p.counts(16)
	}
	p.days(listing.Day)
}

// days goes back to a day on which nobody played, and returns.
func (p *tab) days(today string) {
	p.Helper()
	day, err := time.Parse(time.DateOnly, today)
	if err != nil {
		p.Fatal(err)
	}
	yesterday := day.AddDate(0, 0, -1).Format(time.DateOnly)
	p.click("window-day", "day-before")
	p.sees(marked("span", "from", yesterday), ".board-empty")
	if shown := p.wait(named("date"), "max"); shown != today {
		p.Errorf("days can be chosen up to %s; today is %s", shown, today)
	}
	p.click("day-after")
	p.sees(marked("span", "from", today), row(10), `[data-test="day-after"]:disabled`)
}
